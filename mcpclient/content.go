package mcpclient

import (
	"bytes"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// A CallResult is what a tool answered. Byte slices are pieces of the message it
// came in, byte for byte.
type CallResult struct {
	Content    []byte // the array of content blocks; nil for none
	Structured []byte // structuredContent; nil for none
	IsError    bool   // the tool says that it failed
	Raw        []byte // the whole result

	text []byte // a JSON string
}

// newCallResult reads the members of a result. The error is a *WireError that says
// what is malformed.
func newCallResult(raw []byte, object rawjson.Object) (*CallResult, error) {
	r := &CallResult{Raw: raw, Content: object.Opt("content"), Structured: object.Opt("structuredContent")}
	switch flag := object.Opt("isError"); {
	case flag == nil:
	case rawjson.KindOf(flag) == rawjson.Bool:
		r.IsError = flag[0] == 't'
	default:
		return nil, malformed(methodCall, notA("isError", flag, rawjson.Bool))
	}
	var pieces [][]byte
	switch rawjson.KindOf(r.Content) {
	case rawjson.None:
	case rawjson.Array:
		for _, block := range rawjson.Elements(r.Content) {
			pieces = append(pieces, blockText(block))
		}
	case rawjson.Dict:
		// One block where an array of one was meant.
		pieces, r.Content = [][]byte{blockText(r.Content)}, wrap('[', r.Content, ']')
	case rawjson.String:
		pieces, r.Content = [][]byte{r.Content}, nil
	default:
		return nil, malformed(methodCall, notA("content", r.Content, rawjson.Array))
	}
	switch {
	case len(pieces) > 0:
		r.text = join(pieces)
	case r.Structured != nil:
		r.text = quoteJSON(r.Structured)
	default:
		r.text = []byte(`""`)
	}
	return r, nil
}

// Text returns the result as a model reads it, as a JSON string in the escapes
// that it came in: text blocks and embedded text resources joined with blank
// lines, with a placeholder for what is no text, or the structured content where
// there are no blocks.
func (r *CallResult) Text() []byte { return r.text }

// ErrorText returns the text of a result that is an error: Text, or the
// structured content where that is empty.
func (r *CallResult) ErrorText() []byte {
	if string(r.text) == `""` && r.Structured != nil {
		return quoteJSON(r.Structured)
	}
	return r.text
}

// join joins JSON strings with blank lines. A single one is returned as it is.
func join(pieces [][]byte) []byte {
	if len(pieces) == 1 {
		return pieces[0]
	}
	size := 2
	for _, piece := range pieces {
		size += len(piece) + len(`\n\n`)
	}
	text := append(make([]byte, 0, size), '"')
	for i, piece := range pieces {
		if i > 0 {
			text = append(text, `\n\n`...)
		}
		text = append(text, inner(piece)...)
	}
	return append(text, '"')
}

// inner returns the inside of a JSON string.
func inner(literal []byte) []byte { return literal[1 : len(literal)-1] }

// quoteJSON returns JSON as the text of a JSON string.
func quoteJSON(valid []byte) []byte {
	text := make([]byte, 0, len(valid)+len(valid)/8+2)
	text = rawjson.AppendQuoted(append(text, '"'), valid)
	return append(text, '"')
}

func wrap(open byte, valid []byte, end byte) []byte {
	return bytes.Join([][]byte{{open}, valid, {end}}, nil)
}

// defaultType stands for a media type that the server does not give.
var defaultType = []byte(`"application/octet-stream"`)

// blockText returns the text of one content block, or a placeholder for a block
// that is no text, as a JSON string.
func blockText(raw []byte) []byte {
	block := rawjson.Members(raw)
	kind := str(block.Get("type"))
	switch rawjson.Text(kind) {
	case "text":
		if text := str(block.Get("text")); text != nil {
			return text
		}
		return placeholder("text", "no text in it")
	case "image":
		return omitted("image", block)
	case "audio":
		return omitted("audio", block)
	case "resource":
		return resourceText(block.Get("resource"))
	case "resource_link":
		if uri := str(block.Get("uri")); uri != nil {
			return bracket("resource: ", uri, "")
		}
		return placeholder("resource link", "no uri in it")
	case "":
		return placeholder("content", "its type is missing")
	default:
		return bracket("", kind, " omitted: unknown type of content")
	}
}

// resourceText returns the text of resource contents, or a placeholder for data.
func resourceText(raw []byte) []byte {
	resource := rawjson.Members(raw)
	if text := str(resource.Get("text")); text != nil {
		return text
	}
	return omitted("resource", resource)
}

// str returns a value that is a JSON string, and nil for another.
func str(value []byte) []byte {
	if rawjson.KindOf(value) == rawjson.String {
		return value
	}
	return nil
}

// omitted is the placeholder for data that is not passed on. The data is not
// looked at.
func omitted(what string, of rawjson.Object) []byte {
	mimeType := str(of.Get("mimeType"))
	if mimeType == nil {
		mimeType = defaultType
	}
	return bracket(what+" omitted: ", mimeType, "")
}

func placeholder(what, why string) []byte {
	return []byte(`"[` + what + ` omitted: ` + why + `]"`)
}

// bracket returns "[before literal after]" as a JSON string, the literal's inside
// as the server wrote it.
func bracket(before string, literal []byte, after string) []byte {
	text := make([]byte, 0, len(before)+len(literal)+len(after)+4)
	text = append(append(text, `"[`...), before...)
	text = append(append(text, inner(literal)...), after...)
	return append(text, `]"`...)
}
