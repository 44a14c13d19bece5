package main

// A breakage is a change of the product's source that breaks one rule, to see that
// the suite and our judge notice.
type breakage struct {
	rule     string // a sentence behind "a build in which"
	file     string
	old, new string   // old stands in the file once
	red      []string // the scenarios that must fail, with a revision where only one does
}

// broken is sorted by what it turns red. Every scenario that toolhost passes is
// in it.
var broken = []breakage{
	{
		rule: "the client has no name",
		file: "mcpclient/message.go",
		old:  "client := rawjson.AppendString([]byte(`{\"name\":`), name)",
		new:  "client := rawjson.AppendString([]byte(`{\"name\":`), name[:0])",
		red:  []string{"initialize"},
	},
	{
		rule: "an empty answer to server/discover counts as a server of 2026",
		file: "mcpclient/detect.go",
		old:  "if len(listed) == 0 {\n\t\treturn h.initialize(ctx, latest(true))",
		new:  "if len(listed) == 0 {\n\t\treturn h.modern(probe), nil",
		red:  []string{"initialize", "sse-retry"},
	},
	{
		rule: "the arguments of a call are left out",
		file: "mcpclient/exchange.go",
		old:  "rawjson.AppendLine(append(dst, `,\"arguments\":`...), arguments)",
		new:  "rawjson.AppendLine(append(dst, `,\"arguments\":`...), []byte(`{}`))",
		red:  []string{"tools_call", "http-custom-headers", "json-schema-2020-12-preservation"},
	},
	{
		rule: "the server's retry field is ignored",
		file: "httpmcp/stream.go",
		old:  "sleep(ctx, reopen.next())",
		new:  "sleep(ctx, 0*reopen.next())",
		red:  []string{"sse-retry"},
	},
	{
		rule: "Last-Event-ID is left out",
		file: "httpmcp/stream.go",
		old:  "header[headerLastEventID] = []string{lastID}",
		new:  "",
		red:  []string{"sse-retry"},
	},
	{
		rule: "a refused revision is not tried again",
		file: "mcpclient/detect.go",
		old:  "if err == nil && resp.Err != nil && resp.Err.Code == codeUnsupportedVersion {\n\t\tnext, err := h.agree",
		new:  "if err == nil && resp.Err != nil && resp.Err.Code == codeUnsupportedVersion && resp.Status == 0 {\n\t\tnext, err := h.agree",
		red:  []string{"request-metadata"},
	},
	{
		rule: "_meta is left out",
		file: "mcpclient/message.go",
		old:  "if rev.MetaPerRequest || p.progress {",
		new:  "if p.progress {",
		red:  []string{"request-metadata", "tools_call", "json-schema-2020-12-preservation"},
	},
	{
		rule: "_meta does not say which client it is",
		file: "mcpclient/message.go",
		old:  "dst = append(append(dst, `,\"`+metaClient+`\":`...), m.client...)",
		new:  "",
		red:  []string{"request-metadata"},
	},
	{
		rule: "Mcp-Method is left out",
		file: "httpmcp/headers.go",
		old:  "h[headerMethod] = []string{method}",
		new:  "",
		red:  []string{"http-standard-headers"},
	},
	{
		rule: "Mcp-Name is left out",
		file: "httpmcp/headers.go",
		old:  "h[headerName] = []string{encodeValue(name)}",
		new:  "",
		red:  []string{"http-standard-headers"},
	},
	{
		rule: "header values are not encoded",
		file: "httpmcp/headers.go",
		old:  "return sentinelStart + base64.StdEncoding.EncodeToString([]byte(v)) + sentinelEnd",
		new:  "return v + base64.StdEncoding.EncodeToString(nil)",
		red:  []string{"http-custom-headers"},
	},
	{
		rule: "null is mirrored into a header",
		file: "mcpclient/headerparams.go",
		old:  "if value = object.Opt(key); value == nil {",
		new:  "if value = object.Get(key); value == nil {",
		red:  []string{"http-custom-headers"},
	},
	{
		rule: "a tool with an invalid x-mcp-header is kept",
		file: "mcpclient/tools.go",
		old:  "params, err = findHeaderParams(tool.InputSchema)",
		new:  "params, _ = findHeaderParams(tool.InputSchema)",
		red:  []string{"http-invalid-tool-headers"},
	},
	{
		rule: "a $ref in a schema is fetched",
		file: "httpmcp/post.go",
		old:  "\tm, err := envelope.Parse(data, x.t.bounds())\n",
		new: "\tif _, rest, ok := bytes.Cut(data, []byte(`\"$ref\":\"http`)); ok {\n" +
			"\t\turl, _, _ := bytes.Cut(rest, []byte(`\"`))\n" +
			"\t\tif resp, err := http.Get(\"http\" + string(url)); err == nil {\n\t\t\tresp.Body.Close()\n\t\t}\n\t}\n" +
			"\tm, err := envelope.Parse(data, x.t.bounds())\n",
		red: []string{"json-schema-ref-no-deref"},
	},
	{
		rule: "a schema loses its keywords",
		file: "pack/mcp/catalog.go",
		old:  "rawjson.AppendQuoted(c.all, tool.InputSchema)",
		new:  "rawjson.AppendQuoted(c.all, []byte(`{\"type\":\"object\"}`))",
		red:  []string{"json-schema-2020-12-preservation"},
	},
	{
		rule: "defaults of a form are not filled in",
		file: "mcpclient/form.go",
		old:  "case fallback != nil:",
		new:  "case fallback != nil && field.required:",
		red:  []string{"elicitation-sep1034-client-defaults"},
	},
	{
		rule: "no stream is opened for the server's questions",
		file: "mcpclient/listen.go",
		old:  "if len(tells) == 0 && !asks {",
		new:  "if asks = false; len(tells) == 0 && !asks {",
		red:  []string{"elicitation-sep1034-client-defaults"},
	},
	{
		rule: "the server's state is not sent back",
		file: "mcpclient/rounds.go",
		old:  "if w.state != nil {\n\t\t// Byte for byte",
		new:  "if w.state != nil && x.input == nil {\n\t\t// Byte for byte",
		red:  []string{"sep-2322-client-request-state"},
	},
}
