package server_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"usher/caps"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/face"
	"usher/venue/mcp"
)

// suiteRole is the variable of the conformance suite's programs, which this program is then:
// server or client.
const suiteRole = "MCP_CONFORMANCE_ROLE"

// suiteProgram is a program of the conformance suite.
func suiteProgram(role string) {
	log.SetFlags(0)
	ctx, run := context.Background(), serveSuite
	if role == "client" {
		run = reachSuite
	}
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

// serveSuite serves the venue of the suite at an address, to a caller who may do all, or, where
// capabilities are named, to one whom they bound.
func serveSuite(ctx context.Context, args []string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	bound := new(venue.Options)
	if len(args) > 1 {
		set, err := caps.ParseSet([]byte(args[1]))
		if err != nil {
			return err
		}
		bound.Auth = config.Auth{Anonymous: &config.AnonymousCaps{Caps: caps.Declare(set)}}
	}
	v, o, err := openSuite(ctx, bound)
	if err != nil {
		return err
	}
	defer v.Close()
	f, err := mcp.New(&face.Door{Venue: v}, o)
	if err != nil {
		return err
	}
	defer f.Close()
	u, err := v.User(ctx, suiteUser)
	if err != nil {
		return err
	}
	token, err := v.Session(ctx, u, time.Hour)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", args[0])
	if err != nil {
		return err
	}
	fmt.Printf("http://%s%s\n", l.Addr(), mcp.Path)
	srv := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(args) < 2 { // the suite bears no token
			r.Header.Set("Authorization", "Bearer "+token)
		}
		f.ServeHTTP(w, r)
	})}
	go func() { <-ctx.Done(); srv.Close() }()
	if err := srv.Serve(l); ctx.Err() == nil {
		return err
	}
	return nil
}
