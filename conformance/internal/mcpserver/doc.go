// Package mcpserver starts MCP servers that this project did not write, and asks
// them things without toolhost, which is the measure for what toolhost makes of
// them. The commands peers and matrix share it; local shares how they are installed. It
// uses no package of the product.
//
// A server is a command that prints its address on a line of stdout, as in
// {"url": "http://127.0.0.1:8123/mcp"}, and ends when its stdin does. Anything
// else it prints is not looked at.
//
// A Process has one goroutine, for its stdout, which ends with the process.
package mcpserver
