// Package jsonop works on JSON values: json:merge, json:cond, json:assoc and
// json:select. Orchestrations and agents use them to put inputs together
// without asking a model.
//
// [Operations] makes them. They are pure: they need the ability invoke and no
// resource, and numbers keep the text that they came with.
package jsonop
