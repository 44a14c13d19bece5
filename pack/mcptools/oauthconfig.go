package mcptools

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/oauth"
	"github.com/toolhost/toolhost/pack/bridge"
	"github.com/toolhost/toolhost/redact"
)

// oauthMembers are those of an entry's oauth, each with what reads it.
var oauthMembers = []struct {
	name string
	read func(r *oauthReader, value []byte, into *oauth.Config) error
}{
	{"clientId", func(r *oauthReader, v []byte, c *oauth.Config) (err error) { c.ClientID, err = r.text(v); return }},
	{"clientSecret", (*oauthReader).secret},
	{"issuer", func(r *oauthReader, v []byte, c *oauth.Config) (err error) { c.Issuer, err = r.text(v); return }},
	{"clientMetadataUrl", func(r *oauthReader, v []byte, c *oauth.Config) (err error) { c.MetadataURL, err = r.text(v); return }},
	{"clientName", func(r *oauthReader, v []byte, c *oauth.Config) (err error) { c.ClientName, err = r.text(v); return }},
	{"scopes", (*oauthReader).scopes},
	{"redirectPort", (*oauthReader).port},
}

// readOAuth reads an entry's oauth: true, or an object of what is known in advance. It
// returns nil for an entry without. The error is safe to show.
func readOAuth(value []byte, rules mcpclient.EntryRules) (*oauth.Config, error) {
	switch kind := rawjson.KindOf(value); {
	case value == nil, string(value) == "false":
		return nil, nil
	case kind == rawjson.Bool:
		return &oauth.Config{}, nil
	case kind != rawjson.Dict:
		return nil, fmt.Errorf("oauth must be true, false or an object, not %s", kind)
	}
	object := rawjson.Members(value)
	r := &oauthReader{rules: rules}
	if name, twice := object.Duplicate(); twice {
		return nil, fmt.Errorf("oauth: %s stands twice", bridge.Quote(rules.Scrub, name))
	}
	// Known before a word is said about any member.
	rules.Scrub.Add(rawjson.Text(object.Get("clientSecret")))
	config := &oauth.Config{}
	for _, m := range object {
		known := false
		for _, row := range oauthMembers {
			if row.name != m.Name() {
				continue
			}
			known = true
			if rawjson.KindOf(m.Value) == rawjson.Null {
				continue
			}
			if err := row.read(r, m.Value, config); err != nil {
				return nil, fmt.Errorf("oauth: %s %w", row.name, err)
			}
		}
		if !known {
			// It may be what the sign-in rests on.
			return nil, fmt.Errorf("oauth: %s is not known; known: %s", bridge.Quote(rules.Scrub, m.Name()), knownOAuth())
		}
	}
	if config.ClientID == "" && !config.ClientSecret.Empty() {
		return nil, fmt.Errorf("oauth: clientSecret is of no use without clientId")
	}
	return config, nil
}

func knownOAuth() string {
	var names []string
	for _, row := range oauthMembers {
		names = append(names, row.name)
	}
	return strings.Join(names, ", ")
}

type oauthReader struct{ rules mcpclient.EntryRules }

// text returns an expanded string, of which at least something is left.
func (r *oauthReader) text(value []byte) (string, error) {
	if kind := rawjson.KindOf(value); kind != rawjson.String {
		return "", fmt.Errorf("must be a string, not %s", kind)
	}
	text, err := r.rules.Vars.Expand(rawjson.Text(value), func(values ...string) { r.rules.Scrub.Add(values...) })
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", err)
	}
	if strings.TrimSpace(text) == "" {
		return "", fmt.Errorf("is empty")
	}
	return text, nil
}

func (r *oauthReader) secret(value []byte, into *oauth.Config) error {
	text, err := r.text(value)
	r.rules.Scrub.Add(text)
	into.ClientSecret = redact.NewSecret(text)
	return err
}

// scopes takes a text as OAuth writes it, or an array.
func (r *oauthReader) scopes(value []byte, into *oauth.Config) error {
	list := [][]byte{value}
	if rawjson.KindOf(value) == rawjson.Array {
		list = rawjson.Elements(value)
	}
	for _, element := range list {
		text, err := r.text(element)
		if err != nil {
			return err
		}
		into.Scopes = append(into.Scopes, strings.Fields(text)...)
	}
	return nil
}

func (r *oauthReader) port(value []byte, into *oauth.Config) error {
	port, err := strconv.ParseUint(string(value), 10, 16)
	if err != nil {
		return fmt.Errorf("must be a number from 0 to 65535; 0 is any port that is free")
	}
	into.RedirectPort = int(port)
	return nil
}
