package main

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

// TestMain lets the test binary be the process of a local server.
func TestMain(m *testing.M) {
	relay(os.Args)
	os.Exit(m.Run())
}

// TestChecklist plays every case, as it is and with its rules broken, and fails for
// each row that was lost.
func TestChecklist(t *testing.T) {
	watch(t)
	var out strings.Builder
	faults, err := run(context.Background(), options{}, io.MultiWriter(&out, testOutput{t}))
	if err != nil {
		t.Fatal(err)
	}
	if len(faults) > 0 {
		t.Errorf("%d faults:\n%s", len(faults), out.String())
	}
}

// testOutput shows the table under go test -v.
type testOutput struct{ t *testing.T }

func (o testOutput) Write(p []byte) (int, error) {
	o.t.Log(strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}

// watch looks at every source file: go test takes a result from its cache unless a
// file changed that the test itself looked at, and the build here is another
// process.
func watch(t *testing.T) {
	t.Helper()
	root, err := child.Root(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || path != root && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go"):
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
