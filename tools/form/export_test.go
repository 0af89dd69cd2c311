package form

// Parse reads a node.
var Parse = parse
