package mcpserver

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// FindNode returns the path of Node.js, which must be new enough for the servers.
func FindNode(ctx context.Context) (string, error) {
	return Find(ctx, "node", "Node.js 20 or later", "-e", "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)")
}

// FindPython returns the path of Python, which must be new enough for the servers.
func FindPython(ctx context.Context) (string, error) {
	return Find(ctx, "python3", "Python 3.10 or later", "-c", "import sys; sys.exit(sys.version_info < (3, 10))")
}

// Find returns the path of a program. With the arguments it must end well: they
// look whether it is new enough. what says in words what is needed.
func Find(ctx context.Context, name, what string, arguments ...string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		err = exec.CommandContext(ctx, path, arguments...).Run()
	}
	if err != nil {
		return "", fmt.Errorf("%s is missing or too old: these tests need %s: %w", name, what, err)
	}
	return path, nil
}

// InstallEverything installs server-everything in a folder that holds its lock file
// and preload.mjs, and returns the command that starts it over Streamable HTTP.
func InstallEverything(ctx context.Context, folder string) ([]string, error) {
	node, err := FindNode(ctx)
	if err != nil {
		return nil, err
	}
	if err := NPMInstall(ctx, folder); err != nil {
		return nil, err
	}
	return []string{
		node, "--import", filepath.Join(folder, "preload.mjs"),
		filepath.Join(folder, "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js"), "streamableHttp",
	}, nil
}

// NPMInstall installs the packages of a folder by its lock file.
func NPMInstall(ctx context.Context, folder string) error {
	npm, err := Find(ctx, "npm", "npm, which comes with Node.js", "--version")
	if err != nil {
		return err
	}
	return Run(ctx, folder, npm, "ci")
}

// Run runs a command in a folder. The error holds what it printed.
func Run(ctx context.Context, folder, program string, arguments ...string) error {
	cmd := exec.CommandContext(ctx, program, arguments...)
	cmd.Dir = folder
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, text)
	}
	return nil
}
