// Package wire has no code: its tests hold the Agent-Auth endpoints of a venue to a table
// (testdata/table.txt) of what each answers, over HTTP.
package wire
