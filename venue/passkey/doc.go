// Package passkey says what the passkeys of people confirm (WebAuthn, level 3). [Party.Make]
// and [Party.Ask] are what a browser is asked, [Party.Finish] and [Party.Check] read its answers.
// Whose a passkey is, and that a challenge is answered once, is up to the caller.
package passkey
