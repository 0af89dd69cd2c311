package server

import "testing"

func TestOfClient(t *testing.T) {
	for asked, want := range map[string]string{
		"":              "",
		"authorization": "",
		"authorization,x-stainless-os, X-Stainless-Retry-Count": ", x-stainless-os, x-stainless-retry-count",
		"x-stainless-a\r\nx: y":                                 "",
		"x-secret":                                              "",
	} {
		if got := ofClient(asked); got != want {
			t.Errorf("ofClient(%q) = %q, want %q", asked, got, want)
		}
	}
}
