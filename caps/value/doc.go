// Package value reads and writes JSON values: nil, bool, string, [json.Number],
// []any and map[string]any, and nothing else. [Decode] is the one to call first;
// [Append] writes what it returned.
//
// What Decode accepts means the same to every reader: a key stands once, the
// text is UTF-8, nothing follows the value. Numbers keep the text that they came
// with.
package value
