package guard_test

import (
	"fmt"
	"log"
	"net/http"
	"os"

	"usher/venue/agentauth/guard"
)

// A bank executes transfer, whose location is https://bank.example.org/run in the
// configuration of the venue.
func ExampleGuard_Handler() {
	g, err := guard.New("https://venue.example.org", "https://bank.example.org/run", os.Getenv("BANK_SECRET"), nil)
	if err != nil {
		log.Print(err)
		return
	}
	http.Handle("/run", g.Handler(func(w http.ResponseWriter, _ *http.Request, call *guard.Call) {
		fmt.Fprintf(w, `{"data": {"moved_for": %q}}`, call.User)
	}))
}
