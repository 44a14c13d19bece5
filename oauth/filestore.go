package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/redact"
)

// NewFileStore returns a Store in a folder that only its user can look into, with a
// file for each key. It does no I/O; the folder is made when something is stored.
//
// A file is replaced as a whole, by a rename: who reads it finds what was there before
// or after an Update, never a part. Processes with the same folder take turns by a
// lock beside each file. A file that others could have written or read, that belongs
// to somebody else, or that cannot be read, is refused and left as it is.
func NewFileStore(folder string) Store { return &fileStore{folder} }

type fileStore struct{ folder string }

const (
	fileVersion = 1
	maxFile     = 1 << 20
)

// A storedFile is what a file holds.
type storedFile struct {
	Version       int                           `json:"version"`
	Server        string                        `json:"server"`
	Issuer        string                        `json:"issuer,omitempty"`
	Client        string                        `json:"client,omitempty"`
	Registrations map[string]storedRegistration `json:"registrations,omitempty"`
	Grant         *storedGrant                  `json:"grant,omitempty"`
}

type storedRegistration struct {
	ClientID    string `json:"clientId"`
	Secret      string `json:"clientSecret,omitempty"`
	Method      string `json:"method"`
	RedirectURI string `json:"redirectUri,omitempty"`
}

type storedGrant struct {
	Issuer        string             `json:"issuer"`
	Client        storedRegistration `json:"client"`
	Resource      string             `json:"resource"`
	TokenEndpoint string             `json:"tokenEndpoint"`
	Access        string             `json:"accessToken,omitempty"`
	Refresh       string             `json:"refreshToken,omitempty"`
	Expiry        time.Time          `json:"expiry,omitzero"`
	Asked         []string           `json:"asked,omitempty"`
	Granted       []string           `json:"granted,omitempty"`
}

// path is the file for a key, whose parts may hold anything.
func (s *fileStore) path(key Key) string {
	name := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", key.Server, key.Issuer, key.Client))
	return filepath.Join(s.folder, hex.EncodeToString(name[:16])+".json")
}

func (s *fileStore) Load(_ context.Context, key Key) (*Record, error) { return s.read(key) }

func (s *fileStore) Update(ctx context.Context, key Key, change func(*Record) (*Record, error)) error {
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return plain(err)
	}
	unlock, err := lockFile(ctx, s.path(key)+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	record, err := s.read(key)
	if err != nil {
		return err
	}
	next, err := change(record.clone())
	if err != nil {
		return err
	}
	return s.write(key, next)
}

// read returns nil for a file that does not exist.
func (s *fileStore) read(key Key) (*Record, error) {
	path := s.path(key)
	f, err := openOwn(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, plain(err)
	}
	damaged := func(what string) error {
		return fmt.Errorf("%s %s; remove it, and sign in anew", path, what)
	}
	if len(data) > maxFile {
		return nil, damaged("is longer than 1 MiB")
	}
	var file storedFile
	// The decoder's errors quote what they stumble over.
	if rawjson.Check(data, rawjson.Bounds{Depth: 16}) != nil || json.Unmarshal(data, &file) != nil {
		return nil, damaged("is damaged")
	}
	switch {
	case file.Version != fileVersion:
		return nil, damaged("is of another version")
	case file.Server != key.Server || file.Issuer != key.Issuer || file.Client != key.Client:
		return nil, damaged("is for another server")
	}
	return file.record(), nil
}

// write replaces the file. What is written is on the disk before it takes the place
// of what was there.
func (s *fileStore) write(key Key, record *Record) error {
	path := s.path(key)
	if record == nil || record.Grant == nil && len(record.Registrations) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return plain(err)
		}
		return syncFolder(s.folder)
	}
	data, err := json.MarshalIndent(fileOf(key, record), "", "\t")
	if err != nil {
		return errors.New("the record cannot be written as JSON")
	}
	f, err := os.CreateTemp(s.folder, "new-*") // mode 0600
	if err != nil {
		return plain(err)
	}
	_, err = f.Write(append(data, '\n'))
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return plain(err)
	}
	return syncFolder(s.folder)
}

// syncFolder makes a rename outlast a crash. Not every system lets folders be synced.
func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return plain(err)
	}
	defer f.Close()
	f.Sync()
	return nil
}

// plain is a file system's error without the names of temporary files.
func plain(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("%s: %w", path.Op, path.Err)
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return fmt.Errorf("%s: %w", link.Op, link.Err)
	}
	return err
}

// text is how a secret is kept in the file.
func text(secret redact.Secret) string { return secret.Reveal("the token file of its user") }

func storedOf(r Registration) storedRegistration {
	return storedRegistration{r.ClientID, text(r.Secret), r.Method, r.RedirectURI}
}

func (r storedRegistration) registration() Registration {
	return Registration{r.ClientID, redact.NewSecret(r.Secret), r.Method, r.RedirectURI}
}

func fileOf(key Key, record *Record) *storedFile {
	file := &storedFile{Version: fileVersion, Server: key.Server, Issuer: key.Issuer, Client: key.Client}
	for issuer, r := range record.Registrations {
		if file.Registrations == nil {
			file.Registrations = map[string]storedRegistration{}
		}
		file.Registrations[issuer] = storedOf(r)
	}
	if g := record.Grant; g != nil {
		file.Grant = &storedGrant{
			Issuer: g.Issuer, Client: storedOf(g.Client), Resource: g.Resource, TokenEndpoint: g.TokenEndpoint,
			Access: text(g.Access), Refresh: text(g.Refresh), Expiry: g.Expiry,
			Asked: g.Asked, Granted: g.Granted,
		}
	}
	return file
}

func (file *storedFile) record() *Record {
	record := &Record{}
	for issuer, r := range file.Registrations {
		if record.Registrations == nil {
			record.Registrations = map[string]Registration{}
		}
		record.Registrations[issuer] = r.registration()
	}
	if g := file.Grant; g != nil {
		record.Grant = &Grant{
			Issuer: g.Issuer, Client: g.Client.registration(), Resource: g.Resource, TokenEndpoint: g.TokenEndpoint,
			Access: redact.NewSecret(g.Access), Refresh: redact.NewSecret(g.Refresh), Expiry: g.Expiry,
			Asked: g.Asked, Granted: g.Granted,
		}
	}
	return record
}
