package rpc

import (
	"strconv"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// params reads the members of an object by name and kind. The first member that
// is wrong is kept in fault; what is read after it counts for nothing. A null
// member is an absent one, unknown members are ignored.
type params struct {
	object rawjson.Object
	path   string // of the object, as an error names it
	fault  **fault
}

func paramsOf(object rawjson.Object) params {
	return params{object, "params", new(*fault)}
}

// wrong returns the first fault, or nil.
func (p params) wrong() *fault { return *p.fault }

func (p params) fail(f *fault) {
	if *p.fault == nil {
		*p.fault = f
	}
}

// member returns the member if it is there and of that kind.
func (p params) member(name string, kind rawjson.Kind, required bool) ([]byte, bool) {
	value := p.object.Opt(name)
	switch {
	case value == nil && required:
		p.fail(invalid(p.path+"."+name, "missing; want "+kind.String()))
		return nil, false
	case value == nil:
		return nil, false
	case rawjson.KindOf(value) != kind:
		p.fail(wrongKind(p.path+"."+name, kind, value))
		return nil, false
	}
	return value, true
}

// text returns a string that must be there.
func (p params) text(name string) string {
	value, _ := p.member(name, rawjson.String, true)
	return rawjson.Text(value)
}

// optText returns a string, or "" where there is none.
func (p params) optText(name string) string {
	value, _ := p.member(name, rawjson.String, false)
	return rawjson.Text(value)
}

// flag returns a boolean, false where there is none.
func (p params) flag(name string) bool {
	value, _ := p.member(name, rawjson.Bool, false)
	return string(value) == "true"
}

// number returns a number, and false where there is none.
func (p params) number(name string) (float64, bool) {
	value, ok := p.member(name, rawjson.Number, false)
	if !ok {
		return 0, false
	}
	// A number too large for a float64 is read as infinite, which is what it
	// means wherever a number is read here.
	n, _ := strconv.ParseFloat(string(value), 64)
	return n, true
}

// dict returns an object as it was written, or nil where there is none.
func (p params) dict(name string) []byte {
	value, _ := p.member(name, rawjson.Dict, false)
	return value
}

// inner returns an object to read on in; an absent one has no members.
func (p params) inner(name string) params {
	return params{rawjson.Members(p.dict(name)), p.path + "." + name, p.fault}
}
