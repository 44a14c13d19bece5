package mcp

import (
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
)

// A catalog is what a server listed, made ready to be answered. It is made once
// for each listing, when that arrives, so that a question about ten thousand tools is a
// copy. It is immutable.
//
// Its bytes are pieces of the JSON documents that get_dynamic_tools answers, in
// the escapes of the JSON string that carries such a document as text.
type catalog struct {
	tools []string       // the names, in the server's order
	defs  map[string]def // by exact name
	names []byte         // [\"a\",\"b\"]
	all   []byte         // [{\"name\":...,\"description\":...,\"inputSchema\":...},...]
	note  string         // why the list is not whole; "" when it is
}

// A def is where a tool's object is in catalog.all.
type def struct{ start, end int }

// newCatalog keeps nothing of the listing.
func newCatalog(listing *mcpclient.Listing) *catalog {
	c := &catalog{
		tools: make([]string, len(listing.Tools)),
		defs:  make(map[string]def, len(listing.Tools)),
		note:  strings.Join(listing.Notes, "; "),
	}
	size := 2
	for _, tool := range listing.Tools {
		size += 96 + len(tool.Name) + len(tool.Describe()) + len(tool.InputSchema)*5/4 // quotes gain a backslash
	}
	c.names = append(c.names, '[')
	c.all = append(make([]byte, 0, size), '[')
	for i := range listing.Tools {
		tool := &listing.Tools[i]
		if i > 0 {
			c.names = append(c.names, ',')
			c.all = append(c.all, ',')
		}
		c.names = appendText(c.names, tool.Name)
		start := len(c.all)
		c.all = append(c.all, `{\"name\":`...)
		c.all = appendText(c.all, tool.Name)
		c.all = append(c.all, `,\"description\":`...)
		c.all = appendText(c.all, tool.Describe())
		c.all = append(c.all, `,\"inputSchema\":`...)
		c.all = rawjson.AppendQuoted(c.all, tool.InputSchema)
		c.all = append(c.all, '}')
		c.tools[i] = tool.Name
		c.defs[tool.Name] = def{start, len(c.all)}
	}
	c.names = append(c.names, ']')
	c.all = append(c.all, ']')
	return c
}

// listAll answers get_dynamic_tools without arguments: every namespace, in name
// order, with the names of its tools.
func listAll(servers []*server) pack.Raw {
	doc := []byte(`"{\"namespaces\":[`)
	for i, s := range servers {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = appendNamespace(doc, s.name, s.state.Load(), func(c *catalog) []byte { return c.names })
	}
	return append(doc, `]}"`...)
}

// listOne answers for one namespace: its tools with their input schemas.
func listOne(name string, st *state) pack.Raw {
	doc := appendNamespace([]byte(`"`), name, st, func(c *catalog) []byte { return c.all })
	return append(doc, '"')
}

// listTool answers for one tool that the server has.
func listTool(name string, c *catalog, tool string) pack.Raw {
	at := c.defs[tool]
	doc := appendText([]byte(`"{\"namespace\":`), name)
	doc = append(doc, ',')
	doc = append(doc, c.all[at.start+1:at.end]...) // behind its opening brace
	return append(doc, '"')
}

// appendNamespace appends the object of one namespace; part is what its tools
// member holds where the server is ready.
func appendNamespace(doc []byte, name string, st *state, part func(*catalog) []byte) []byte {
	doc = append(doc, `{\"namespace\":`...)
	doc = appendText(doc, name)
	doc = append(doc, `,\"status\":`...)
	doc = appendText(doc, st.status)
	if st.reason != "" {
		doc = append(doc, `,\"reason\":`...)
		doc = appendText(doc, st.reason)
	}
	if st.catalog == nil {
		return append(doc, `,\"tools\":[]}`...)
	}
	if note := st.note(); note != "" {
		doc = append(doc, `,\"note\":`...)
		doc = appendText(doc, note)
	}
	doc = append(doc, `,\"tools\":`...)
	doc = append(doc, part(st.catalog)...)
	return append(doc, '}')
}

// note says why the list is not whole, or may be out of date.
func (st *state) note() string {
	switch {
	case st.stale == "":
		return st.catalog.note
	case st.catalog.note == "":
		return "this list may be out of date: listing again failed: " + st.stale
	default:
		return st.catalog.note + "; it may be out of date: listing again failed: " + st.stale
	}
}

// appendText appends s as a JSON string of a document that is itself carried in
// a JSON string.
func appendText(doc []byte, s string) []byte {
	return rawjson.AppendQuoted(doc, rawjson.Quote(s))
}
