package caps

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"testing"
)

// benchSet has n capabilities of one owner, as a large workspace has them.
func benchSet(n int) (list []Capability, hits, misses []Request) {
	abilities := []string{"crud/read", "crud", "crud/write", "agent/message"}
	list = make([]Capability, n)
	for i := range list {
		list[i] = MustCapability(fmt.Sprintf("w/tenant-%03d/records/acme-%06d", i%1000, i), abilities[i%2])
	}
	const rotating = 256
	for i := range rotating {
		k := i * n / rotating
		hits = append(hits, Need("crud/read", fmt.Sprintf("w/tenant-%03d/records/acme-%06d/invoices", k%1000, k)))
		misses = append(misses, Need("crud/read", fmt.Sprintf("w/tenant-%03d/records/acme-%06d/invoices", k%1000, n+k)))
	}
	return list, hits, misses
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000, 10_000, 100_000} {
		list, hits, misses := benchSet(n)
		set := Of(list...)
		for _, kind := range []struct {
			name     string
			requests []Request
			want     bool
		}{{"hit", hits, true}, {"miss", misses, false}} {
			b.Run(fmt.Sprintf("%s/%d", kind.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if set.Check(kind.requests[i&255]).IsAllowed() != kind.want {
						b.Fatal("wrong decision")
					}
				}
			})
			if n > 1000 {
				continue
			}
			b.Run(fmt.Sprintf("linear-%s/%d", kind.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if linear(list).check(kind.requests[i&255]) != kind.want {
						b.Fatal("wrong decision")
					}
				}
			})
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{1, 10, 1000, 100_000} {
		list, _, _ := benchSet(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				Of(list...)
			}
		})
	}
}

func BenchmarkIntersect(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		list, _, _ := benchSet(n)
		s, t := Of(list...), Of(append(list[n/2:], MustCapability("w/tenant-001/", "crud"))...)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				s.Intersect(t)
			}
		})
	}
}

// BenchmarkNeed checks paths of 48 bytes whole: Need, then Check.
func BenchmarkNeed(b *testing.B) {
	var paths [256]string
	for i := range paths {
		paths[i] = fmt.Sprintf("w/tenant-%03d/records/acme-%06d/invoices/INV-01", i%2, i)
	}
	set := Of(MustCapability("w/tenant-000/", "crud"), MustCapability("w/tenant-001/", "crud/read"), MustCapability("g/x", "agent/message"))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if path := paths[i&255]; len(path) != 48 || !set.Check(Need("crud/read", path)).IsAllowed() {
			b.Fatal("denied")
		}
	}
}

// BenchmarkVerify is the measure: the figures of this package assume that it
// takes 60 µs.
func BenchmarkVerify(b *testing.B) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		b.Fatal(err)
	}
	message := make([]byte, 256)
	signature := ed25519.Sign(private, message)
	for b.Loop() {
		if !ed25519.Verify(public, message, signature) {
			b.Fatal("not verified")
		}
	}
}

// BenchmarkTerms settles a decision among 256 capabilities on terms, of which the last
// holds, and meets two such sets.
func BenchmarkTerms(b *testing.B) {
	some := func(first int) Set {
		list := make([]Capability, 256)
		for i := range list {
			c, err := MustCapability(fmt.Sprintf("w/tenant-%03d", i%64), "crud").On(Terms{When: fmt.Appendf(nil, `{"/amount":{"max":%d},"/to":{"not_in":["mallory"]}}`, first+i)})
			if err != nil {
				b.Fatal(err)
			}
			list[i] = c
		}
		return Of(list...)
	}
	s, t := some(0), some(3)
	r := Need("crud/read", "w/tenant-063/x")
	f := Facts{Input: map[string]any{"amount": json.Number("255"), "to": "bob"}}
	b.Run("settle", func(b *testing.B) {
		for b.Loop() {
			if !s.Check(r).Settle(f).IsAllowed() {
				b.Fatal("denied")
			}
		}
	})
	b.Run("intersect", func(b *testing.B) {
		for b.Loop() {
			s.Intersect(t)
		}
	})
}
