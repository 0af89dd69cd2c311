package webhooks

import (
	"net/netip"
	"testing"
)

func TestIsPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true, "::ffff:93.184.216.34": true,
		"127.0.0.1": false, "::1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "0.0.0.0": false, "0.1.2.3": false,
		"100.64.0.1": false, "198.18.0.1": false, "224.0.0.1": false, "255.255.255.255": false, "240.0.0.1": false, "::": false, "fe80::1": false, "fe80::1%eth0": false,
		"fd00::1": false, "ff02::1": false, "::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::127.0.0.1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false,
	} {
		if got := isPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("isPublic(%s) = %v", text, got)
		}
	}
}

func TestPausesGrow(t *testing.T) {
	for tries, most := range map[int]int{1: 8, 2: 23, 12: 5400, 1000: 5400} {
		if d := pause(tries); d.Seconds() < float64(most)/3.1 || d.Seconds() > float64(most) {
			t.Errorf("pause(%d) = %s, want at most %d s", tries, d, most)
		}
	}
}
