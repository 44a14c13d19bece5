package speccheck

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolhost/toolhost/spec"
)

// A Checker validates messages against the schemas of the protocol. All methods
// may be called from any goroutine.
type Checker struct {
	schemas map[string]*jsonschema.Schema // by file in spec.FS, and fragment where it is a part of one
	methods []spec.Method
	errors  map[int]spec.ErrorRow

	mu   sync.Mutex
	open map[string][]call // by the direction of the request; guarded by mu
}

// A call is a request that has not been answered.
type call struct {
	id     string // as idKey gives it
	method string
}

// messageSchemas are the schemas of a message by its direction.
var messageSchemas = map[string]string{
	spec.HostToChild: "schema/message.json#/$defs/hostToChild",
	spec.ChildToHost: "schema/message.json#/$defs/childToHost",
}

const dynamicTools = "schema/dynamic-tools.json"

// New compiles the schemas. The error says which of them is no valid schema.
func New() (*Checker, error) {
	c := &Checker{
		schemas: map[string]*jsonschema.Schema{},
		methods: spec.Methods(),
		errors:  map[int]spec.ErrorRow{},
		open:    map[string][]call{},
	}
	for _, row := range spec.Errors() {
		c.errors[row.Code] = row
	}
	compiler, err := newCompiler()
	if err != nil {
		return nil, err
	}
	names := []string{messageSchemas[spec.HostToChild], messageSchemas[spec.ChildToHost], dynamicTools}
	for _, m := range c.methods {
		names = append(names, m.Params)
		if m.Result != "" {
			names = append(names, m.Result)
		}
	}
	for _, name := range names {
		if c.schemas[name], err = compiler.Compile(schemaURL + name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return c, nil
}

// Another returns a Checker of the same schemas, which need not be compiled again,
// for another conversation.
func (c *Checker) Another() *Checker {
	return &Checker{schemas: c.schemas, methods: c.methods, errors: c.errors, open: map[string][]call{}}
}

// schemaURL is what the $id of each schema begins with. It names them; nothing
// is fetched.
const schemaURL = "https://github.com/toolhost/toolhost/spec/1/"

// newCompiler returns a compiler that knows the embedded schemas and no others.
func newCompiler() (*jsonschema.Compiler, error) {
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	names, err := fs.Glob(spec.FS, "schema/*.json")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		data, err := spec.FS.ReadFile(name)
		if err != nil {
			return nil, err
		}
		document, err := unmarshal(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := compiler.AddResource(schemaURL+name, document); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return compiler, nil
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is no schema of the protocol", url)
}

// Message validates one message that goes in that direction. For a response,
// answers is the method of the request that it answers; "" leaves its result
// unjudged, as for a request that was broken itself.
func (c *Checker) Message(direction string, raw []byte, answers string) error {
	if err := c.validate(messageSchemas[direction], raw); err != nil {
		return err
	}
	var m envelope
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	if _, ok := idKey(m.ID); m.ID != nil && !ok && !(m.Method == nil && string(m.ID) == "null") {
		return fmt.Errorf("id %s is no string and no int64 written as an integer", m.ID)
	}
	if m.Method != nil || direction == spec.HostToChild && m.Error != nil {
		return nil
	}
	// A response is judged by the method that was sent the other way.
	method, known := c.method(opposite(direction), answers)
	if m.Error != nil {
		return c.checkError(m.Error, method, known)
	}
	if !known {
		return nil
	}
	if err := c.validate(method.Result, m.Result); err != nil {
		return fmt.Errorf("result of %s: %w", answers, err)
	}
	return nil
}

// checkError holds an error that the child answers against the error table and,
// where the method is known, against the kinds that it may answer with.
func (c *Checker) checkError(e *wireError, method spec.Method, known bool) error {
	row, ok := c.errors[e.Code]
	if !ok {
		return fmt.Errorf("code %d is not in the error table", e.Code)
	}
	if known && row.Kind != "" && !slices.Contains(method.Errors, row.Kind) {
		return fmt.Errorf("%s may not fail with kind %s", method.Name, row.Kind)
	}
	if kind := text(e.Data["kind"]); kind != row.Kind {
		return fmt.Errorf("code %d has kind %q, want %q", e.Code, kind, row.Kind)
	}
	for _, member := range row.Data.Required {
		if _, ok := e.Data[member]; !ok {
			return fmt.Errorf("code %d lacks data.%s", e.Code, member)
		}
	}
	for member := range e.Data {
		if c.isDataMember(member) && !slices.Contains(row.Data.Required, member) && !slices.Contains(row.Data.Optional, member) {
			return fmt.Errorf("code %d never comes with data.%s", e.Code, member)
		}
	}
	return nil
}

// isDataMember reports whether the error table uses a member of that name at
// all; others are of a later version and no concern of this one.
func (c *Checker) isDataMember(name string) bool {
	for _, row := range c.errors {
		if slices.Contains(row.Data.Required, name) || slices.Contains(row.Data.Optional, name) {
			return true
		}
	}
	return false
}

// Trace validates one message of a conversation whose messages it is given in
// order, a request before its response. It remembers the requests of each
// direction, so that it knows what a response answers, and gives an error for a
// response that answers nothing. A request that is broken is an error too, and
// still remembered where it has an id, for a child must answer it.
func (c *Checker) Trace(direction string, raw []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var m envelope
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	if m.Method != nil || m.Result == nil && m.Error == nil {
		if id, ok := idKey(m.ID); ok {
			c.open[direction] = append(c.open[direction], call{id, text(m.Method)})
		}
		return c.Message(direction, raw, "")
	}
	id, ok := idKey(m.ID)
	if !ok && m.Error != nil {
		if used, ok := m.Error.Data["id"]; ok { // the second request of an id in flight
			id, _ = idKey(used)
			c.answered(opposite(direction), id)
		}
		return c.Message(direction, raw, "")
	}
	method, ok := c.answered(opposite(direction), id)
	if !ok {
		return fmt.Errorf("response with id %s answers no open request", m.ID)
	}
	return c.Message(direction, raw, method)
}

// answered forgets the newest open request with that id and returns its method.
func (c *Checker) answered(direction, id string) (method string, ok bool) {
	calls := c.open[direction]
	for i, one := range slices.Backward(calls) {
		if one.id == id {
			c.open[direction] = slices.Delete(calls, i, i+1)
			return one.method, true
		}
	}
	return "", false
}

// Open returns the ids of the requests of that direction that Trace has seen and
// that have not been answered, in the order they came, as JSON.
func (c *Checker) Open(direction string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []string
	for _, one := range c.open[direction] {
		ids = append(ids, one.id)
	}
	return ids
}

// DynamicTools validates the JSON text that get_dynamic_tools answers.
func (c *Checker) DynamicTools(text []byte) error { return c.validate(dynamicTools, text) }

func (c *Checker) validate(schema string, raw []byte) error {
	value, err := unmarshal(raw)
	if err != nil {
		return err
	}
	return c.schemas[schema].Validate(value)
}

func (c *Checker) method(direction, name string) (spec.Method, bool) {
	for _, m := range c.methods {
		if m.Direction == direction && m.Name == name {
			return m, true
		}
	}
	return spec.Method{}, false
}

func opposite(direction string) string {
	if direction == spec.HostToChild {
		return spec.ChildToHost
	}
	return spec.HostToChild
}

// An envelope is what is read of any message. A nil member is absent.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method json.RawMessage `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *wireError      `json:"error"`
}

type wireError struct {
	Code int                        `json:"code"`
	Data map[string]json.RawMessage `json:"data"`
}

// text returns the string that raw is, and "" for anything else.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// idKey returns what two ids are compared by, and false for what is no id.
func idKey(raw json.RawMessage) (string, bool) {
	var s string
	if json.Unmarshal(raw, &s) == nil && string(raw) != "null" {
		return strconv.Quote(s), true
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return strconv.FormatInt(n, 10), err == nil
}
