package spend

// Usage counts the tokens of a call, and what they cost where the model's price
// is known.
type Usage struct {
	Input      int   `json:"input"` // all of the request, what a cache held included
	Output     int   `json:"output"`
	CacheRead  int   `json:"cacheRead,omitempty"`  // of Input: taken from the provider's cache
	CacheWrite int   `json:"cacheWrite,omitempty"` // of Input: put into it
	Cost       int64 `json:"costMicros,omitempty"` // millionths of the unit of the prices
}

// Plus returns the sum.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite, u.Cost + v.Cost,
	}
}

// Minus returns what u has beyond v.
func (u Usage) Minus(v Usage) Usage {
	return Usage{
		u.Input - v.Input, u.Output - v.Output, u.CacheRead - v.CacheRead, u.CacheWrite - v.CacheWrite, u.Cost - v.Cost,
	}
}

// maxTokens bounds what a provider may report of one request: what is beyond is
// a mistake, and must not overflow a sum.
const maxTokens = 1 << 40

// Sane returns u with every count within 0 and 2^40, and a cost to match.
func (u Usage) Sane() Usage {
	within := func(n int) int { return min(max(n, 0), maxTokens) }
	return Usage{within(u.Input), within(u.Output), within(u.CacheRead), within(u.CacheWrite), min(max(u.Cost, 0), maxTokens*1_000_000)}
}

// amount is one call that used u.
func (u Usage) amount() Amount {
	return Amount{Calls: 1, Tokens: plus(int64(max(u.Input, 0)), int64(max(u.Output, 0))), Money: Money(max(u.Cost, 0))}
}
