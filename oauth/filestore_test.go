package oauth

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/redact"
)

var someKey = Key{Server: serverURL, Issuer: issuerURL, Client: "c"}

func someRecord() *Record {
	g := grant("access-token-1", "refresh-token-1")
	g.Client = Registration{ClientID: "client", Secret: redact.NewSecret("client-secret"), Method: methodBasic, RedirectURI: "http://127.0.0.1:1/callback"}
	g.Expiry = time.Date(2026, 7, 28, 1, 2, 3, 4, time.UTC)
	g.Asked, g.Granted = []string{"a", "b"}, []string{"a"}
	return &Record{Registrations: map[string]Registration{issuerURL: g.Client}, Grant: g}
}

// shown makes records comparable.
func shown(r *Record) *storedFile {
	if r == nil {
		return nil
	}
	return fileOf(someKey, r)
}

// keepIn stores a record.
func keepIn(t *testing.T, s Store, key Key, r *Record) {
	t.Helper()
	if err := s.Update(t.Context(), key, func(*Record) (*Record, error) { return r, nil }); err != nil {
		t.Fatal(err)
	}
}

// TestStores: what both do.
func TestStores(t *testing.T) {
	for name, s := range map[string]Store{"memory": NewMemoryStore(), "files": NewFileStore(filepath.Join(t.TempDir(), "a", "tokens"))} {
		t.Run(name, func(t *testing.T) {
			load := func(key Key) *Record {
				t.Helper()
				r, err := s.Load(t.Context(), key)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			if r := load(someKey); r != nil {
				t.Errorf("something is there at first: %v", r)
			}
			keepIn(t, s, someKey, someRecord())
			if got, want := shown(load(someKey)), shown(someRecord()); !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%+v\nwant\n%+v", got, want)
			}
			for _, other := range []Key{{Server: serverURL}, {Server: serverURL, Issuer: issuerURL}, {serverURL, "c", issuerURL}} {
				if r := load(other); r != nil {
					t.Errorf("%v has what belongs to another key", other)
				}
			}
			broken := errors.New("no")
			err := s.Update(t.Context(), someKey, func(r *Record) (*Record, error) {
				r.Grant.Asked = nil
				r.Registrations["x"] = Registration{}
				return r, broken
			})
			if err != broken || !reflect.DeepEqual(shown(load(someKey)), shown(someRecord())) {
				t.Errorf("a change that fails: %v, and left %+v", err, shown(load(someKey)))
			}
			// One at a time, each with what the one before has left.
			var updates sync.WaitGroup
			for range 50 {
				updates.Go(func() {
					s.Update(t.Context(), someKey, func(r *Record) (*Record, error) {
						r.Grant.Asked = append(r.Grant.Asked[:len(r.Grant.Asked):len(r.Grant.Asked)], "x")
						return r, nil
					})
				})
			}
			updates.Wait()
			if got := len(load(someKey).Grant.Asked); got != 52 {
				t.Errorf("%d of 50 updates were kept", got-2)
			}
			// Who waits for a turn can give up.
			ctx, cancel := context.WithCancel(t.Context())
			err = s.Update(t.Context(), someKey, func(r *Record) (*Record, error) {
				cancel()
				return r, s.Update(ctx, someKey, func(r *Record) (*Record, error) { return r, nil })
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			keepIn(t, s, someKey, nil)
			if r := load(someKey); r != nil {
				t.Errorf("something is left: %v", r)
			}
		})
	}
}

// TestSEC_03_Files: nobody else reads them, and one that is replaced is a new file.
func TestSEC_03_Files(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "tokens")
	s := NewFileStore(folder)
	for range 2 {
		keepIn(t, s, someKey, someRecord())
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 2 { // the file and its lock
		t.Fatalf("%v, %v", entries, err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", entry.Name(), info.Mode(), err)
		}
		if strings.Contains(entry.Name(), "mcp") {
			t.Errorf("%s tells where the user signs in", entry.Name())
		}
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestT58_FilesThatAreRefused: each is left as it is, and the error says what to do.
func TestT58_FilesThatAreRefused(t *testing.T) {
	sound := func(t *testing.T, folder string) string {
		s := NewFileStore(folder)
		keepIn(t, s, someKey, someRecord())
		return s.(*fileStore).path(someKey)
	}
	rewrite := func(change func(string) string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, []byte(change(string(text))), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	do := func(f func(path string) error) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			if err := f(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, row := range map[string]struct {
		spoil func(t *testing.T, path string)
		say   string
	}{
		"cut":             {rewrite(func(text string) string { return text[:len(text)/2] }), "is damaged"},
		"empty":           {rewrite(func(string) string { return "" }), "is damaged"},
		"no JSON":         {rewrite(func(string) string { return "access-token-1" }), "is damaged"},
		"another shape":   {rewrite(func(string) string { return `{"version":1,"grant":5}` }), "is damaged"},
		"a later version": {rewrite(func(text string) string { return strings.Replace(text, `"version": 1`, `"version": 2`, 1) }), "another version"},
		"another server":  {rewrite(func(text string) string { return strings.Replace(text, serverURL, "https://evil.test", 1) }), "another server"},
		"too long":        {rewrite(func(text string) string { return text + strings.Repeat(" ", maxFile) }), "longer than 1 MiB"},
		"read by others":  {do(func(path string) error { return os.Chmod(path, 0o644) }), "0644"},
		"a link":          {do(func(path string) error { return errors.Join(os.Rename(path, path+".x"), os.Symlink(path+".x", path)) }), "symbolic link"},
		"a second name":   {do(func(path string) error { return os.Link(path, path+".x") }), "hard link"},
		"a folder":        {do(func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }), "regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := sound(t, folder)
			row.spoil(t, path)
			before, _ := os.ReadFile(path)
			s := NewFileStore(folder)
			_, err := s.Load(t.Context(), someKey)
			if err == nil || !strings.Contains(err.Error(), row.say) || !strings.Contains(err.Error(), filepath.Base(path)) {
				t.Errorf("got %v, want %q", err, row.say)
			}
			err = s.Update(t.Context(), someKey, func(r *Record) (*Record, error) { return someRecord(), nil })
			if err == nil || !strings.Contains(err.Error(), row.say) || strings.Contains(err.Error(), "access-token-1") {
				t.Errorf("got %v, want %q", err, row.say)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the file was written to")
			}
		})
	}
}

// TestAFolderThatCannotBe: an error of few words, and nothing else.
func TestAFolderThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := NewFileStore(filepath.Join(file, "tokens"))
	if err := s.Update(t.Context(), someKey, func(r *Record) (*Record, error) { return someRecord(), nil }); err == nil {
		t.Error("it was stored")
	}
}

// FuzzFile: whatever a file holds, reading it ends in a record or an error (F13).
func FuzzFile(f *testing.F) {
	folder := f.TempDir()
	s := &fileStore{folder}
	if err := s.write(someKey, someRecord()); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(s.path(someKey))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"version":1,"grant":{"client":null}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(s.path(someKey), text, 0o600); err != nil {
			t.Fatal(err)
		}
		record, err := s.read(someKey)
		if (record == nil) != (err != nil) {
			t.Errorf("%v, %v", record, err)
		}
	})
}
