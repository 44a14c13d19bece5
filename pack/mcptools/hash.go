package mcptools

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
)

// defining are the members of a definition that a user or a model goes by.
var defining = []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"}

// definitionHash names what an approval was given for (T36): the server's entry,
// and the defining members of the tool. The order of
// members and the way strings are written make no difference; any other change
// does.
func definitionHash(entry []byte, tool *mcpclient.Tool) string {
	raw := rawjson.Members(tool.Raw)
	doc := append([]byte(nil), entry...)
	for _, name := range defining {
		doc = append(doc, '\n')
		if value := raw.Opt(name); value != nil {
			doc = canonical(doc, value)
		}
	}
	sum := sha256.Sum256(doc)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// changedMembers names the defining members in which two definitions differ.
func changedMembers(a, b *mcpclient.Tool) []string {
	before, after := rawjson.Members(a.Raw), rawjson.Members(b.Raw)
	var names []string
	for _, name := range defining {
		if string(canonical(nil, before.Opt(name))) != string(canonical(nil, after.Opt(name))) {
			names = append(names, name)
		}
	}
	return names
}

// entryIdentity is what makes an entry the same server: where it is, or what is
// started. The values of headers and variables are left out, since a hash that
// travels could be searched for short ones.
func entryIdentity(entry *mcpclient.Entry, raw []byte) []byte {
	doc := rawjson.AppendString(nil, entry.Name)
	if entry.Process == nil {
		return rawjson.AppendString(doc, entry.Shown)
	}
	object := rawjson.Members(raw)
	for _, name := range []string{"command", "args", "cwd"} {
		doc = append(doc, ',')
		if value := object.Opt(name); value != nil {
			doc = canonical(doc, value)
		}
	}
	for _, v := range entry.Process.Env {
		doc = rawjson.AppendString(append(doc, ','), v.Name)
	}
	return doc
}

// canonical appends JSON with its members in name order, members of one name in
// their own, without space, and with strings in one spelling. Numbers keep theirs.
func canonical(dst, value []byte) []byte {
	switch rawjson.KindOf(value) {
	case rawjson.Dict:
		members := slices.Clone(rawjson.Members(value))
		slices.SortStableFunc(members, func(a, b rawjson.Member) int { return strings.Compare(a.Name(), b.Name()) })
		dst = append(dst, '{')
		for i, m := range members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(canonical(dst, m.Key), ':')
			dst = canonical(dst, m.Value)
		}
		return append(dst, '}')
	case rawjson.Array:
		dst = append(dst, '[')
		for i, item := range rawjson.Elements(value) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = canonical(dst, item)
		}
		return append(dst, ']')
	case rawjson.String:
		if text := rawjson.Text(value); !strings.ContainsRune(text, '\uFFFD') {
			return rawjson.AppendString(dst, text)
		}
		// Not every spelling can be decoded; two that cannot are not the same.
	}
	return append(dst, value...)
}
