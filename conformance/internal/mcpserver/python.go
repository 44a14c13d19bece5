package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// InstallPython installs the packages of a lock file, each with its hash, in a virtual
// environment in the cache, one for each lock file and Python, and returns its
// interpreter.
func InstallPython(ctx context.Context, lock string) (interpreter string, err error) {
	python, err := FindPython(ctx)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(lock)
	if err != nil {
		return "", err
	}
	cache, err := CacheFolder()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(text, python...))
	venv := filepath.Join(cache, "python-"+hex.EncodeToString(sum[:8]))
	interpreter = filepath.Join(venv, "bin", "python")
	if runtime.GOOS == "windows" {
		interpreter = filepath.Join(venv, "Scripts", "python.exe")
	}
	complete := filepath.Join(venv, "complete") // written last
	if _, err := os.Stat(complete); !errors.Is(err, fs.ErrNotExist) {
		return interpreter, err
	}
	if err := Run(ctx, cache, python, "-m", "venv", "--clear", venv); err != nil {
		return "", err
	}
	if err := Run(ctx, cache, interpreter, "-m", "pip", "install", "--no-deps", "--require-hashes", "-r", lock); err != nil {
		return "", err
	}
	return interpreter, os.WriteFile(complete, nil, 0o600)
}

// CacheFolder is where what is slow to install stays for the next run.
func CacheFolder() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	folder := filepath.Join(base, "toolhost-conformance-matrix")
	return folder, os.MkdirAll(folder, 0o700)
}
