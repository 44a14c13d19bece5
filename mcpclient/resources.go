package mcpclient

import (
	"context"
	"slices"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// A ResourcePage is one page of a server's resources, or of their templates, as the
// server wrote it.
type ResourcePage struct {
	Resources  []byte // the array, byte for byte
	NextCursor []byte // the literal, a JSON string; nil on the last page
	Raw        []byte // the whole result; nil when nothing was asked
}

// ListResources returns one page of the server's resources (server/resources): the
// first for a nil cursor, else the one that the NextCursor of a page before asks
// for, "" too. To a server that declares no resources nothing is sent, and the page
// is empty. Errors are those of CallTool.
//
// Cursors belong to a session of the server: when that is lost, a page with a cursor
// fails with a *WireError, and the first page is to be asked for again.
func (s *Session) ListResources(ctx context.Context, cursor *string) (*ResourcePage, error) {
	return s.page(ctx, resourceList, cursor)
}

// ListResourceTemplates returns one page of the URI templates (RFC 6570) of the
// server's resources, as ListResources does.
func (s *Session) ListResourceTemplates(ctx context.Context, cursor *string) (*ResourcePage, error) {
	return s.page(ctx, templateList, cursor)
}

// page returns one page of a list.
func (s *Session) page(ctx context.Context, kind *listKind, cursor *string) (*ResourcePage, error) {
	if !s.Offers(kind.capability) {
		return &ResourcePage{Resources: []byte("[]")}, nil
	}
	link, err := s.usable(ctx)
	if err != nil {
		return nil, err
	}
	var literal []byte
	if cursor != nil {
		literal = rawjson.Quote(*cursor)
	}
	for reopened := false; ; {
		resp, err := s.send(ctx, link, kind.ask(literal))
		switch {
		case !reopened && s.lost(link, resp, err):
			reopened = true
			if link, err = s.renew(ctx, link); err != nil {
				return nil, err
			}
			if cursor == nil {
				continue
			}
			return nil, &WireError{
				Op:        kind.method,
				Reason:    "the server has lost the session that the cursor belongs to; ask for the first page again",
				Delivered: "no",
			}
		case err == nil && resp.Err == nil:
			_, items, next, err := kind.read(link.Revision, resp.Result)
			if err != nil {
				return nil, err
			}
			return &ResourcePage{Resources: items, NextCursor: next, Raw: resp.Result}, nil
		}
		s.doubt(link, resp, err)
		if err == nil {
			err = s.explained(resp.Err)
		}
		return nil, err
	}
}

// A ResourceResult is what a resource holds. Byte slices are pieces of the message
// it came in, byte for byte.
type ResourceResult struct {
	Contents []byte // the array; each has a uri, and text or a blob
	Raw      []byte // the whole result

	text []byte
}

// Text returns the contents as a model reads them, as CallResult.Text does with
// embedded resources: texts joined with blank lines, with a placeholder for data.
func (r *ResourceResult) Text() []byte { return r.text }

var resourceReads = slices.Concat(resultReads, []string{"contents"})

// ReadResource reads the resource of exactly that uri, through the server: the uri
// is never fetched, whatever its scheme. What is said of GetPrompt holds of it.
func (s *Session) ReadResource(ctx context.Context, uri string, opts *CallOptions) (*ResourceResult, error) {
	if !s.Offers(resourceList.capability) {
		return nil, &ArgumentError{"the server offers no resources"}
	}
	x := s.newExchange(methodRead, uri, resourceReads, opts)
	x.params = params{size: len(uri), members: func(dst []byte) []byte {
		return rawjson.AppendString(append(dst, `"uri":`...), uri)
	}}
	a, err := x.run(ctx)
	if err != nil {
		return nil, err
	}
	contents := a.object.Opt("contents")
	if rawjson.KindOf(contents) != rawjson.Array {
		return nil, malformed(methodRead, notA("contents", contents, rawjson.Array))
	}
	r := &ResourceResult{Contents: contents, Raw: a.raw, text: []byte(`""`)}
	var pieces [][]byte
	for _, content := range rawjson.Elements(contents) {
		pieces = append(pieces, resourceText(content))
	}
	if len(pieces) > 0 {
		r.text = join(pieces)
	}
	return r, nil
}
