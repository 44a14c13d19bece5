package mcpclient

// A Revision is one revision of the MCP specification as a row of facts. Code
// asks the row, never the name: a new revision is a new row.
type Revision struct {
	Name string // as it travels in protocolVersion

	Handshake        bool // opens with initialize; else requests stand alone and server/discover describes the server
	Session          bool // the HTTP carrier may assign Mcp-Session-Id
	VersionHeader    bool // MCP-Protocol-Version goes on every request after the handshake
	Resume           bool // a broken response stream can be resumed by GET with Last-Event-ID
	ListenByGet      bool // the server speaks of its own accord on a GET stream; else on subscriptions/listen
	ServerRequests   bool // the server may send requests; answers are POSTed
	Batches          bool // the server may send arrays of messages
	CancelMessage    bool // over HTTP a request is cancelled by notifications/cancelled; else by closing its stream
	MetaPerRequest   bool // every request carries version, client and capabilities in _meta
	StandardHeaders  bool // Mcp-Method, Mcp-Name and Mcp-Param-* mirror the body
	StructuredOutput bool // tools may promise structured results by an outputSchema
	InputRequired    bool // results may be input_required; resultType is read
	Caching          bool // listings say with ttlMs for how long they are fresh
}

// revisions are the rows, newest first, which is the order of preference.
var revisions = []*Revision{
	{
		Name:             "2026-07-28",
		VersionHeader:    true,
		MetaPerRequest:   true,
		StandardHeaders:  true,
		StructuredOutput: true,
		InputRequired:    true,
		Caching:          true,
	},
	{
		Name:      "2025-11-25",
		Handshake: true, Session: true, VersionHeader: true, Resume: true,
		ListenByGet: true, ServerRequests: true, CancelMessage: true,
		StructuredOutput: true,
	},
	{
		Name:      "2025-06-18",
		Handshake: true, Session: true, VersionHeader: true, Resume: true,
		ListenByGet: true, ServerRequests: true, CancelMessage: true,
		StructuredOutput: true,
	},
	{
		Name:      "2025-03-26",
		Handshake: true, Session: true, Resume: true,
		ListenByGet: true, ServerRequests: true, CancelMessage: true, Batches: true,
	},
	{
		// Not spoken by choice: servers answer with it to clients that offer a
		// later one, and its messages are a subset of what we read.
		Name:      "2024-11-05",
		Handshake: true, Session: true, Resume: true,
		ListenByGet: true, ServerRequests: true, CancelMessage: true, Batches: true,
	},
}

// Revisions returns the rows, newest first.
func Revisions() []*Revision { return append([]*Revision(nil), revisions...) }

// RevisionNamed returns the row of that name, or nil.
func RevisionNamed(name string) *Revision {
	for _, r := range revisions {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// latest returns the newest row of one era.
func latest(handshake bool) *Revision {
	for _, r := range revisions {
		if r.Handshake == handshake {
			return r
		}
	}
	panic("mcpclient: the table of revisions lost an era")
}
