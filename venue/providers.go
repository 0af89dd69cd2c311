package venue

// Issuers are the servers of OpenID Connect whose users are users of the venue.
func (v *Venue) Issuers() []string {
	var list []string
	for _, p := range v.auth.Auth.Providers {
		list = append(list, p.Issuer)
	}
	return list
}
