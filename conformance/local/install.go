package main

import (
	"context"
	"path/filepath"

	"github.com/toolhost/toolhost/conformance/internal/child"
	"github.com/toolhost/toolhost/conformance/internal/mcpserver"
)

// commands start the servers over stdio. What each needs to know of its trial is
// added to them.
type commands struct {
	everything, filesystem, memory []string
	python, golang                 []string
}

// install installs and builds the servers, each from its lock file: those of the
// folders peers and matrix, and two more.
func install(ctx context.Context, conformance, work string) (c commands, err error) {
	node, err := mcpserver.FindNode(ctx)
	if err != nil {
		return c, err
	}
	ours, peers := filepath.Join(conformance, "local", "npm"), filepath.Join(conformance, "peers", "npm")
	for _, folder := range []string{ours, peers} {
		if err := mcpserver.NPMInstall(ctx, folder); err != nil {
			return c, err
		}
	}
	from := func(folder, name string) []string {
		return []string{
			node, "--import", filepath.Join(ours, "keep.mjs"),
			filepath.Join(folder, "node_modules", "@modelcontextprotocol", name, "dist", "index.js"),
		}
	}
	c.everything = from(peers, "server-everything")
	c.filesystem = from(ours, "server-filesystem")
	c.memory = from(ours, "server-memory")

	matrix := filepath.Join(conformance, "matrix")
	interpreter, err := mcpserver.InstallPython(ctx, filepath.Join(matrix, "python", "requirements.txt"))
	if err != nil {
		return c, err
	}
	c.python = []string{interpreter, filepath.Join(matrix, "python", "server.py")}
	built, err := child.GoBuild(ctx, filepath.Join(matrix, "go"), filepath.Join(work, "matrix-go"))
	c.golang = []string{built}
	return c, err
}
