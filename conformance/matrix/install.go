package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/toolhost/toolhost/conformance/internal/child"
	"github.com/toolhost/toolhost/conformance/internal/mcpserver"
)

// commands start the servers; what launch adds is missing.
type commands struct {
	typescript1, typescript2, python, golang, rust, everything []string
}

// An installer installs and builds the servers, each from its lock file.
type installer struct {
	here string // the folder of this command
	work string // removed after the run
	rust bool   // build the server on the Rust SDK too
}

func (i installer) run(ctx context.Context) (c commands, err error) {
	for _, install := range []func(context.Context, *commands) error{i.node, i.python, i.golang, i.cargo} {
		if err := install(ctx, &c); err != nil {
			return c, err
		}
	}
	return c, nil
}

func (i installer) node(ctx context.Context, c *commands) error {
	node, err := mcpserver.FindNode(ctx)
	if err != nil {
		return err
	}
	ours := filepath.Join(i.here, "node")
	if err := mcpserver.NPMInstall(ctx, ours); err != nil {
		return err
	}
	c.typescript1 = []string{node, filepath.Join(ours, "v1.mjs")}
	c.typescript2 = []string{node, filepath.Join(ours, "v2.mjs")}
	c.everything, err = mcpserver.InstallEverything(ctx, filepath.Join(i.here, "..", "peers", "npm"))
	return err
}

func (i installer) python(ctx context.Context, c *commands) error {
	interpreter, err := mcpserver.InstallPython(ctx, filepath.Join(i.here, "python", "requirements.txt"))
	c.python = []string{interpreter, filepath.Join(i.here, "python", "server.py")}
	return err
}

func (i installer) golang(ctx context.Context, c *commands) error {
	path, err := child.GoBuild(ctx, filepath.Join(i.here, "go"), filepath.Join(i.work, "matrix-go"))
	c.golang = []string{path}
	return err
}

// cargo builds the server on the Rust SDK into the cache, since that takes a minute
// of both cores the first time.
func (i installer) cargo(ctx context.Context, c *commands) error {
	if !i.rust {
		return nil
	}
	cargo, err := mcpserver.Find(ctx, "cargo", "Rust 1.88 or later with cargo, or the flag -without rust", "--version")
	if err != nil {
		return err
	}
	cache, err := mcpserver.CacheFolder()
	if err != nil {
		return err
	}
	target := filepath.Join(cache, "rust")
	c.rust = []string{filepath.Join(target, "debug", "toolhost-conformance-matrix")}
	return mcpserver.Run(ctx, filepath.Join(i.here, "rust"), cargo, "build", "--target-dir", target)
}

// version reads the version that a pin names.
func (p pin) version(here string) (string, error) {
	text, err := os.ReadFile(p.path(here))
	if err != nil {
		return "", err
	}
	match := regexp.MustCompile(p.pattern).FindSubmatch(text)
	if match == nil {
		return "", fmt.Errorf("%s does not hold %s", p.file, p.pattern)
	}
	return string(match[1]), nil
}
