package login

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"usher/tools/agents"
	"usher/tools/fault"
	"usher/venue/auth"
	"usher/venue/config"
	"usher/venue/face"
)

// Where the face is.
const (
	Path    = "/login"
	OutPath = "/logout"
)

// questionLife is how long somebody may take at a provider.
const questionLife = 10 * time.Minute

// Face lets people sign in and out.
type Face struct {
	door   *face.Door
	mux    *http.ServeMux
	origin *http.CrossOriginProtection
}

// New returns the face.
func New(door *face.Door) *Face {
	f := &Face{door: door, mux: http.NewServeMux(), origin: http.NewCrossOriginProtection()}
	f.mux.HandleFunc("GET "+Path, f.page)
	f.mux.HandleFunc("POST "+Path, f.paste)
	f.mux.HandleFunc("GET "+Path+"/{provider}", f.ask)
	f.mux.HandleFunc("GET "+Path+"/{provider}/callback", f.answer)
	f.mux.HandleFunc("POST "+OutPath, f.out)
	return f
}

// ServeHTTP answers a request.
func (f *Face) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 2*auth.MaxToken)
	if err := f.origin.Check(r); err != nil {
		f.show(w, r, http.StatusForbidden, errors.New("this request comes from another site"))
		return
	}
	face.Route(f.mux, errNoRoute, w, r)
}

var errNoRoute = fault.New(fault.NoRoute, "there is nothing here: "+Path+" is where people sign in")

// pageView is what the page says.
type pageView struct {
	Name, Who, Since, Error, To, Forgery string
	Providers                            []config.Provider
	Agents                               []agents.Summary // within reach of who is signed in
}

//go:embed login.html
var text string

var page = face.Page("login", text, nil)

// page says who is signed in, or how to.
func (f *Face) page(w http.ResponseWriter, r *http.Request) { f.show(w, r, http.StatusOK, nil) }

func (f *Face) show(w http.ResponseWriter, r *http.Request, status int, failed error) {
	s := pageView{Name: f.door.Venue.Name(), To: local(r.FormValue("to")), Providers: f.door.Venue.Providers()}
	if failed != nil {
		s.Error = failed.Error()
	}
	if p, in, err := f.door.BySession(r); err == nil {
		if s.Agents, err = p.Askable(r.Context()); err != nil {
			face.Of(err).WriteTo(w)
			return
		}
		s.Who, s.Since, s.Forgery = p.DID().String(), in.Since.UTC().Format("2006-01-02 15:04 UTC"), in.Forgery
	}
	var b bytes.Buffer
	if err := page().Execute(&b, s); err != nil {
		face.Of(err).WriteTo(w)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a reader who is gone is told nothing
}

// fail shows the page with what went wrong.
func (f *Face) fail(w http.ResponseWriter, r *http.Request, err error) {
	f.show(w, r, face.Of(err).Status, err)
}

// paste signs in with a token of the venue.
func (f *Face) paste(w http.ResponseWriter, r *http.Request) {
	secret, err := f.door.Venue.SignIn(r.Context(), strings.TrimSpace(r.PostFormValue("token")))
	if err != nil {
		f.fail(w, r, err)
		return
	}
	f.enter(w, r, secret, r.PostFormValue("to"))
}

// enter gives a session to the browser, in place of one that it has.
func (f *Face) enter(w http.ResponseWriter, r *http.Request, secret, to string) {
	if c, err := r.Cookie(face.SessionCookie(r)); err == nil {
		if err := f.door.Venue.SignOut(r.Context(), c.Value); err != nil {
			f.fail(w, r, err)
			return
		}
	}
	http.SetCookie(w, cookie(r, face.SessionCookie(r), secret, auth.SessionLife))
	http.Redirect(w, r, local(to), http.StatusSeeOther)
}

// cookie is one that no script sees; a life below zero removes it.
func cookie(r *http.Request, name, value string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: face.IsSecure(r), SameSite: http.SameSiteLaxMode,
	}
}

// local is a path of this venue, and its own page for what is none.
func local(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(to, "/") || strings.ContainsAny(to, "\\\r\n\t") {
		return Path
	}
	return to
}

// questionCookie holds what the browser asks a provider. As [face.SessionCookie] it is this host's: one
// that another site has set would sign in whom that site likes.
func questionCookie(r *http.Request) string {
	if face.IsSecure(r) {
		return "__Host-usher-question"
	}
	return "usher-question"
}

// ask sends the browser to a provider.
func (f *Face) ask(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("provider")
	back := url.URL{Scheme: "http", Host: r.Host, Path: Path + "/" + name + "/callback"}
	if face.IsSecure(r) {
		back.Scheme = "https"
	}
	q, address, err := f.door.Venue.Ask(r.Context(), name, back.String(), local(r.FormValue("to")))
	var raw []byte
	if err == nil {
		raw, err = json.Marshal(q)
	}
	if err != nil {
		f.fail(w, r, err)
		return
	}
	http.SetCookie(w, cookie(r, questionCookie(r), base64.RawURLEncoding.EncodeToString(raw), questionLife))
	http.Redirect(w, r, address, http.StatusSeeOther)
}

var errNoQuestion = fault.New(fault.Refused, "this browser asked no provider, or took longer than ten minutes: begin again")

// answer signs in whom a provider tells of.
func (f *Face) answer(w http.ResponseWriter, r *http.Request) {
	q, err := questionOf(r)
	http.SetCookie(w, cookie(r, questionCookie(r), "", -time.Second))
	if err == nil && q.Provider != r.PathValue("provider") {
		err = errNoQuestion
	}
	if said := r.FormValue("error"); err == nil && said != "" {
		err = fault.New(fault.Refused, "the provider did not sign you in: "+printable(said))
	}
	var secret string
	if err == nil {
		secret, err = f.door.Venue.Answer(r.Context(), q, r.FormValue("state"), r.FormValue("code"))
	}
	if err != nil {
		f.fail(w, r, err)
		return
	}
	f.enter(w, r, secret, q.To)
}

// printable is a code of an error (RFC 6749, 4.1.2.1) without anything else.
func printable(code string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c == '_' {
			return c
		}
		return -1
	}, code[:min(len(code), 64)])
}

func questionOf(r *http.Request) (q auth.Question, err error) {
	c, err := r.Cookie(questionCookie(r))
	if err != nil {
		return q, errNoQuestion
	}
	raw, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err == nil {
		err = json.Unmarshal(raw, &q)
	}
	if err != nil {
		return q, errNoQuestion
	}
	return q, nil
}

// out ends the session of who asks for it from a page of the venue.
func (f *Face) out(w http.ResponseWriter, r *http.Request) {
	_, in, err := f.door.BySession(r)
	if err == nil && !in.MayChange(r.PostFormValue(face.ForgeryField)) {
		f.fail(w, r, face.ErrForged)
		return
	}
	if c, err := r.Cookie(face.SessionCookie(r)); err == nil {
		if err := f.door.Venue.SignOut(r.Context(), c.Value); err != nil {
			f.fail(w, r, err)
			return
		}
	}
	http.SetCookie(w, cookie(r, face.SessionCookie(r), "", -time.Second))
	http.Redirect(w, r, Path, http.StatusSeeOther)
}
