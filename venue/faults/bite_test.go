//go:build linux

package faults

import (
	"strings"
	"testing"
)

// What is claimed and not so is found, whatever it is.
func TestTheCheckBites(t *testing.T) {
	project, claims := template(t, work{Name: "bite", Lanes: 1, Steps: 6, Bulk: 1}, false)
	list, err := readClaimFile(claims)
	if err != nil {
		t.Fatal(err)
	}
	first := func(kind string) claim {
		for _, c := range list {
			if c.Kind == kind {
				return c
			}
		}
		t.Fatalf("nothing of the kind %s was claimed", kind)
		return claim{}
	}
	as := func(kind string, c claim, change func(*claim)) claim {
		c.Kind = kind
		if change != nil {
			change(&c)
		}
		return c
	}
	tests := []struct {
		name string
		lie  claim
		want string
	}{
		{"the truth", first(noted), ""},
		{"a note that nobody wrote", as(noted, first(noted), func(c *claim) { c.Path = "w/notes/bite-0/0/none" }), "w/notes/bite-0/0/none is not there"},
		{"a note in a folder that nobody made", as(noted, first(noted), func(c *claim) { c.Path = "w/notes/none/1" }), "w/notes/none/1 is not there"},
		{"another text", as(noted, first(noted), func(c *claim) { c.Seed++ }), "has another text"},
		{"a note that was not deleted", as(deleted, first(noted), nil), "was deleted and is there"},
		{"a counter that is behind", as(counted, first(counted), func(c *claim) { c.N = 1000 }), "and 1000 was acknowledged"},
		{"a turn that nobody had", as(turned, first(turned), func(c *claim) { c.N = 1000 }), "turn 1000 of session bite-0_0 is not there"},
		{"a session that nobody had", as(turned, first(turned), func(c *claim) { c.Session = "none" }), "session none is not listed"},
		{"a token that is revoked", as(granted, first(revoked), nil), "which was granted"},
		{"a token that is not revoked", as(revoked, first(granted), nil), "by a revoked token"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := checked(t.Context(), project, []claim{tt.lie})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(f.Missing, "; "); (tt.want == "") != (f.Lost == 0) || !strings.Contains(got, tt.want) {
				t.Errorf("the check finds %q, want %q", got, tt.want)
			}
		})
	}
}

// Each way in which a point can end.
func TestVerdicts(t *testing.T) {
	worked := ran{name: "usher run"}
	refusal := ran{name: "usher run", status: 1, err: "usher: 00001.wal is damaged at offset 7"}
	dump := ran{name: "usher run", status: 2, crash: "exit status 2"}
	tests := []struct {
		name    string
		trial   trial
		steps   []ran
		finding finding
		changed []string
		want    string
		red     bool
	}{
		{"all is there", trial{}, []ran{worked, worked}, finding{}, nil, ok, false},
		{"a command crashes", trial{}, []ran{dump, worked}, finding{}, nil, crashed, true},
		{"the child crashed", trial{before: []ran{dump}}, []ran{worked, worked}, finding{}, nil, crashed, true},
		{"something is missing", trial{}, []ran{worked, worked}, finding{Lost: 1}, nil, silent, true},
		{"something is missing, and said", trial{}, []ran{worked, worked}, finding{Lost: 1, Told: []string{"damaged"}}, nil, lost, true},
		{"the journal is refused", trial{damaged: "journal/00001.wal", mayTell: true}, []ran{refusal, refusal}, finding{}, nil, told, false},
		{"refused without a name", trial{damaged: "journal/00002.wal", mayTell: true}, []ran{refusal, refusal}, finding{}, nil, told, true},
		{"refused and changed", trial{damaged: "journal/00001.wal", mayTell: true}, []ran{refusal, refusal}, finding{}, []string{"MANIFEST"}, told, true},
		{"the index is refused", trial{damaged: "00001.wal"}, []ran{refusal, refusal}, finding{}, nil, told, true},
		{"refused once", trial{}, []ran{refusal, worked}, finding{}, nil, told, true},
		{"an old segment is refused by what reads it", trial{damaged: "journal/00001.wal", mayTell: true}, []ran{refusal, worked}, finding{}, nil, told, false},
		{"the key is refused, and the ledger verified", trial{damaged: keyFile, mayTell: true}, []ran{worked, {status: 1, err: "venue.key is gone"}}, finding{}, nil, told, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.trial.weigh(tt.steps, tt.finding, tt.changed); got.is != tt.want || (got.why != "") != tt.red {
				t.Errorf("weigh() = %+v, want %s, and that it fails the driver: %v", got, tt.want, tt.red)
			}
		})
	}
}
