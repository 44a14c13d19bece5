package mcpclient

import (
	"strconv"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// The keys of _meta that MCP reserves and we send (basic/index, "Reserved keys").
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaProgress     = "progressToken"
)

// The requests of this package.
const (
	methodInitialize = "initialize"
	methodDiscover   = "server/discover"
	methodList       = "tools/list"
	methodCall       = "tools/call"
	methodListen     = "subscriptions/listen"
	methodPrompts    = "prompts/list"
	methodPrompt     = "prompts/get"
	methodResources  = "resources/list"
	methodTemplates  = "resources/templates/list"
	methodRead       = "resources/read"
)

// messageParts are the pieces of JSON that the messages of a session repeat.
type messageParts struct {
	client       []byte // the Implementation object
	capabilities []byte // the ClientCapabilities object
}

func newMessageParts(opts *Options) messageParts {
	name, version := opts.ClientName, opts.ClientVersion
	if name == "" {
		name = "toolhost"
	}
	if version == "" {
		version = "0"
	}
	client := rawjson.AppendString([]byte(`{"name":`), name)
	client = rawjson.AppendString(append(client, `,"version":`...), version)
	return messageParts{client: append(client, '}'), capabilities: capabilities(opts.Elicits)}
}

// params are the parameters of one request. They are appended straight into the
// message, since arguments may be large.
type params struct {
	members  func(dst []byte) []byte // appends members without braces; nil for none
	size     int                     // about how many bytes members appends
	progress bool                    // ask for progress, with the request's id as the token
	logLevel string                  // ask for log messages from this level on; "" for none
}

// request returns a whole request on one line.
func (m *messageParts) request(rev *Revision, id int64, method string, p params) []byte {
	body := make([]byte, 0, p.size+len(m.client)+len(m.capabilities)+384)
	body = strconv.AppendInt(append(body, `{"jsonrpc":"2.0","id":`...), id, 10)
	body = rawjson.AppendString(append(body, `,"method":`...), method)
	body = append(body, `,"params":{`...)
	if p.members != nil {
		body = p.members(body)
	}
	if rev.MetaPerRequest || p.progress {
		body = m.appendMeta(separate(body), rev, id, p)
	}
	return append(body, "}}"...)
}

func (m *messageParts) appendMeta(dst []byte, rev *Revision, id int64, p params) []byte {
	dst = append(dst, `"_meta":{`...)
	if rev.MetaPerRequest {
		dst = rawjson.AppendString(append(dst, `"`+metaVersion+`":`...), rev.Name)
		dst = append(append(dst, `,"`+metaClient+`":`...), m.client...)
		dst = append(append(dst, `,"`+metaCapabilities+`":`...), m.capabilities...)
		if p.logLevel != "" {
			dst = rawjson.AppendString(append(dst, `,"`+metaLogLevel+`":`...), p.logLevel)
		}
	}
	if p.progress {
		dst = strconv.AppendInt(append(separate(dst), `"`+metaProgress+`":`...), id, 10)
	}
	return append(dst, '}')
}

// separate appends a comma unless dst ends where an object begins.
func separate(dst []byte) []byte {
	if dst[len(dst)-1] == '{' {
		return dst
	}
	return append(dst, ',')
}
