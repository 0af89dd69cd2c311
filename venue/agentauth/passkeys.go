package agentauth

import (
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"usher/venue/visitors"
)

// passkeysPath is the page on which a person makes and removes passkeys.
const passkeysPath = "/agent/passkeys"

// pageStyle is that of all pages.
const pageStyle = `<style>
body{font:15px/1.5 system-ui,sans-serif;max-width:38rem;margin:3rem auto;padding:0 1rem;color:#222;background:#fff}
input[type=text],textarea,select,button{font:inherit;padding:.4rem;margin:.3rem 0;box-sizing:border-box}
input[type=text],textarea{width:100%}fieldset{margin:1rem 0;border:1px solid #999;border-radius:.3rem}
code{font:13px/1.4 ui-monospace,monospace;overflow-wrap:anywhere}.error{color:#a00}.quiet{color:#666}
dt{font-weight:600}dd{margin:0 0 .5rem}:focus-visible{outline:3px solid #06c;outline-offset:2px}button{padding:.5rem 1.2rem;margin-right:.6rem}
@media (prefers-color-scheme:dark){body{color:#ddd;background:#181818}.error{color:#f88}.quiet{color:#999}}
</style>
`

// askPasskey is what a person presses so that their browser asks for a passkey.
const askPasskey = `<input type="hidden" name="passkey-get"><input type="hidden" name="passkey-create">
<p id="said" role="status">Your passkey confirms exactly this. What you change now, you press again for.</p>
<p><button type="button" id="passkey">Use your passkey</button></p>
`

// passkeyScript asks the browser for what a form says in data-get and data-create, one press
// each, and sends the form with what came of it, as if the button of data-press was pressed.
const passkeyScript = `
const form = document.querySelector("form[data-press]"), go = document.getElementById("passkey"), said = document.getElementById("said");
const bytes = (t) => Uint8Array.from(atob(t.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
const text = (b) => btoa(String.fromCharCode(...new Uint8Array(b))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const ids = (list) => (list || []).map((c) => ({...c, id: bytes(c.id)}));
const ask = async (kind) => {
  const o = JSON.parse(form.dataset[kind]);
  o.challenge = bytes(o.challenge);
  if (kind === "create") {
    o.user.id = bytes(o.user.id);
    o.excludeCredentials = ids(o.excludeCredentials);
  } else {
    o.allowCredentials = ids(o.allowCredentials);
  }
  const c = await navigator.credentials[kind]({publicKey: o}), r = c.response;
  const out = {id: c.id, rawId: text(c.rawId), type: c.type, response: {clientDataJSON: text(r.clientDataJSON)}};
  if (kind === "create") {
    out.response.attestationObject = text(r.attestationObject);
    out.response.transports = r.getTransports ? r.getTransports() : [];
  } else {
    out.response.authenticatorData = text(r.authenticatorData);
    out.response.signature = text(r.signature);
    if (r.userHandle && r.userHandle.byteLength) out.response.userHandle = text(r.userHandle);
  }
  form.elements["passkey-" + kind].value = JSON.stringify(out);
};
const left = ["get", "create"].filter((kind) => form.dataset[kind]);
go.addEventListener("click", async () => {
  go.disabled = true;
  try {
    await ask(left[0]);
    left.shift();
    if (left.length) said.textContent = "Confirmed. Press once more to make the new passkey.";
    else form.requestSubmit(form.querySelector("button[value=" + form.dataset.press + "]"));
  } catch (e) {
    said.textContent = "The browser says: " + e.message;
  }
  go.disabled = false;
});
`

var passkeyScriptHash = func() string {
	sum := sha256.Sum256([]byte(passkeyScript))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}()

// shownPasskeys is what the page of passkeys says.
type shownPasskeys struct {
	Venue, Who, Error, Done, Forgery, SignIn string
	Keys                                     []shownPasskey
	Press, Add, Remove                       string // what is begun
	Get, Create                              string // what the browser asks, as JSON
}

type shownPasskey struct{ ID, Name, Created string }

var passkeysPage = template.Must(template.New("passkeys").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Venue}}: your passkeys</title>
` + pageStyle + `<main>
<h1>{{.Venue}}: your passkeys</h1>
{{with .Error}}<p class="error" role="alert">{{.}}</p>{{end}}{{with .Done}}<p role="status">{{.}}</p>{{end}}
{{if not .Who}}<p><a href="{{.SignIn}}">Sign in</a> to see them.</p>
{{else if .Press}}
<form method="post" action="` + passkeysPath + `" data-press="{{.Press}}"{{with .Get}} data-get="{{.}}"{{end}}{{with .Create}} data-create="{{.}}"{{end}}>
<button hidden name="action" value="look"></button>
<input type="hidden" name="forgery" value="{{.Forgery}}"><input type="hidden" name="name" value="{{.Add}}"><input type="hidden" name="id" value="{{.Remove}}">
<p>{{if .Add}}A new passkey, <strong>{{.Add}}</strong>.{{if .Get}} One that you have confirms it first.{{end}}{{else}}One of your passkeys confirms that you remove it.{{end}}</p>
` + askPasskey + `<button hidden name="action" value="{{.Press}}"></button></form>
<p><a href="` + passkeysPath + `">Back</a></p>
{{else}}
<p>You are <code>{{.Who}}</code>. A passkey confirms what you approve where a capability takes one. To make or remove one you must have signed in within 5 minutes, and one that you have confirms it. Make two: nobody can approve in your place when you have lost all of them.</p>
{{range .Keys}}<form method="post" action="` + passkeysPath + `"><input type="hidden" name="forgery" value="{{$.Forgery}}"><input type="hidden" name="id" value="{{.ID}}">
<p><strong>{{.Name}}</strong> <span class="quiet">since {{.Created}}</span> <button name="action" value="remove">Remove</button></p></form>
{{else}}<p>You have none.</p>{{end}}
<form method="post" action="` + passkeysPath + `"><input type="hidden" name="forgery" value="{{.Forgery}}">
<label for="name">Name of a new one</label><input type="text" id="name" name="name" maxlength="100" required>
<button name="action" value="add">Make a passkey</button></form>
{{end}}</main>{{if .Press}}<script>` + passkeyScript + `</script>{{end}}</html>
`))

// passkeys lists those of who has signed in.
func (c *call) passkeys() error {
	c.showPasskeys(http.StatusOK, shownPasskeys{}, nil)
	return nil
}

// showPasskeys writes the page with what was done, or what is begun.
func (c *call) showPasskeys(status int, s shownPasskeys, failed error) {
	s.Venue, s.SignIn = c.face.door.Venue.Name(), signInPath+"?to="+url.QueryEscape(passkeysPath)
	who, in, err := c.signedIn()
	if err == nil && in != nil {
		s.Who, s.Forgery = who.DID.String(), in.Forgery
		keys, err := c.face.room.Passkeys(c.ctx(), who)
		if err != nil && failed == nil {
			failed = err
		}
		for i := range keys {
			at := time.UnixMilli(keys[i].Created).UTC().Format("2006-01-02")
			s.Keys = append(s.Keys, shownPasskey{base64.RawURLEncoding.EncodeToString(keys[i].ID), keys[i].Name, at})
		}
	}
	if failed != nil {
		e := refusal(failed)
		c.record("", e)
		s.Error, status = e.Message, c.statusOf(e)
	}
	c.html(status, passkeysPage, s, s.Press != "")
}

// changePasskeys takes a form of the page: the first begins a change, and the second brings
// what the browser was asked.
func (c *call) changePasskeys() error {
	if err := c.face.origin.Check(c.r); err != nil {
		return errForged
	}
	form, err := url.ParseQuery(string(c.body))
	if err != nil {
		return invalid("the form is not read")
	}
	var s shownPasskeys
	who, err := c.owner(form)
	if err == nil {
		s, err = c.changedPasskeys(form, who)
	}
	c.showPasskeys(http.StatusOK, s, err)
	return nil
}

func (c *call) changedPasskeys(form url.Values, who visitors.Person) (s shownPasskeys, err error) {
	what, action := visitors.PasskeyChange{}, form.Get("action")
	switch action {
	case "add":
		what.Add = form.Get("name")
	case "remove":
		if what.Remove, err = base64.RawURLEncoding.DecodeString(form.Get("id")); err != nil {
			return s, invalid("this names no passkey")
		}
	case "look":
		return s, nil
	default:
		return s, invalid("press one of the buttons")
	}
	said := visitors.PasskeyAsked{Get: []byte(form.Get("passkey-get")), Create: []byte(form.Get("passkey-create"))}
	if len(said.Get) == 0 && len(said.Create) == 0 {
		asked, err := c.face.room.AskPasskeys(c.ctx(), who, what)
		if err != nil {
			return s, err
		}
		return shownPasskeys{Press: action, Add: what.Add, Remove: form.Get("id"), Get: string(asked.Get), Create: string(asked.Create)}, nil
	}
	if err := c.face.room.ChangePasskeys(c.ctx(), who, what, said); err != nil {
		return s, err
	}
	if action == "add" {
		return shownPasskeys{Done: "The passkey was made."}, nil
	}
	return shownPasskeys{Done: "The passkey was removed."}, nil
}
