// Package ucan holds who said so: keys, DIDs and sealed storage for keys.
//
// Call [NewKey] or [KeyFromSeed] for a principal's key and [ParseDID] for
// somebody else's name; [SealerFromFile] for what encrypts keys at rest.
package ucan
