package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Root returns the folder of the main module, found from the working directory.
func Root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: run this inside the toolhost repository: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Build builds the toolhost binary into dir and returns its path. flags are further
// flags of go build, such as -race.
func Build(ctx context.Context, dir string, flags ...string) (string, error) {
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	return GoBuild(ctx, root, filepath.Join(dir, "toolhost"), flags...)
}

// GoBuild builds the main package in folder into the file out and returns its path.
func GoBuild(ctx context.Context, folder, out string, flags ...string) (string, error) {
	if runtime.GOOS == "windows" {
		out += ".exe"
	}
	args := append([]string{"build", "-o", out}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
	cmd.Dir = folder
	cmd.Env = os.Environ()
	if !slices.Contains(flags, "-race") { // which needs cgo; what is released is static
		cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("build %s: %w", filepath.Base(folder), err), errors.New(strings.TrimSpace(string(text))))
	}
	return out, nil
}
