// Command server serves the venue of the conformance suite: usage, server ADDRESS, and
// server ADDRESS CAPS for a caller who is bounded.
package main

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
	"usher/venue/mcp/testdata/conformance/mcptest"
)

func main() {
	if err := serve(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func serve(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	bound := new(venue.Options)
	if len(args) > 1 {
		set, err := caps.ParseSet([]byte(args[1]))
		if err != nil {
			return err
		}
		bound.Auth = config.Auth{Anonymous: &config.AnonymousCaps{Caps: caps.Declare(set)}}
	}
	v, o, err := mcptest.Open(ctx, bound)
	if err != nil {
		return err
	}
	defer v.Close()
	f, err := mcp.New(&face.Door{Venue: v}, o)
	if err != nil {
		return err
	}
	defer f.Close()
	u, err := v.User(ctx, mcptest.User)
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
