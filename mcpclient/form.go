package mcpclient

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/schema"
)

// A form is a requestedSchema: a flat object whose members are primitives
// (client/elicitation, "Requested Schema").
type form struct {
	fields []field
	schema *schema.Schema // all of it
}

// A field is one property of a form.
type field struct {
	key      []byte // as it is written
	name     string
	kind     *fieldKind
	object   rawjson.Object // its schema
	required bool
}

// A fieldKind is what a person is told of one kind of field.
type fieldKind struct {
	wants       string
	least, most string // the keywords that bound it; "" for none
	unit        string // what the bounds count
}

var (
	textField    = &fieldKind{"a text", "minLength", "maxLength", " characters"}
	numberField  = &fieldKind{"a number", "minimum", "maximum", ""}
	integerField = &fieldKind{"a whole number", "minimum", "maximum", ""}
	boolField    = &fieldKind{"true or false", "", "", ""}
	choiceField  = &fieldKind{"one of its choices", "", "", ""}
	choicesField = &fieldKind{"a list of its choices", "minItems", "maxItems", " of them"}
)

// complete returns the content of an accepted form: what was given, and the
// defaults of the fields that were left out. problem says what does not fit, naming
// the field and what is wanted; it quotes no value. The error says that this was not
// found out.
func (f *form) complete(answer []byte) (content []byte, problem string, err error) {
	if answer == nil {
		answer = []byte("{}")
	}
	given, syntax := rawjson.Split(answer, rawjson.Bounds{})
	if syntax != nil {
		return nil, "the answer is no JSON object with a value for each field", nil
	}
	if name, twice := given.Duplicate(); twice {
		return nil, shownKey(name) + " stands twice in the answer", nil
	}
	content = append(make([]byte, 0, len(answer)+256), '{')
	for _, m := range given {
		switch field := f.field(m.Name()); {
		case field == nil:
			return nil, shownKey(m.Name()) + " is no field of the form", nil
		case !field.formatted(m.Value):
			return nil, field.problem(), nil
		}
		content = appendMember(content, m.Key, m.Value)
	}
	for i := range f.fields {
		field := &f.fields[i]
		fallback := field.object.Opt("default")
		switch {
		case given.Get(field.name) != nil:
		case fallback != nil:
			content = appendMember(content, field.key, fallback)
		case field.required:
			return nil, shownKey(field.name) + " is missing; it wants " + field.wants(), nil
		}
	}
	content = append(content, '}')
	problem, err = f.judge(content)
	return content, problem, err
}

// compile makes the whole schema ready to judge answers.
func (f *form) compile(raw []byte, table limit.Table) (err error) {
	if f.schema, err = schema.Compile(raw, table); err != nil {
		return fmt.Errorf("its form cannot be used: %w", err)
	}
	return nil
}

// judge holds the content against the whole schema. problem is "" when it fits.
func (f *form) judge(content []byte) (problem string, err error) {
	err = f.schema.Validate(content)
	mismatch, ok := errors.AsType[*schema.Mismatch](err)
	if !ok {
		return "", err
	}
	token, _, _ := strings.Cut(strings.TrimPrefix(mismatch.Path, "/"), "/")
	if field := f.field(pointerToken.Replace(token)); field != nil {
		return field.problem(), nil
	}
	return "the answer as a whole " + mismatch.Reason, nil
}

// pointerToken unescapes a token of a JSON Pointer (RFC 6901, section 4).
var pointerToken = strings.NewReplacer("~1", "/", "~0", "~")

// field returns the field of that name, or nil.
func (f *form) field(name string) *field {
	for i := range f.fields {
		if f.fields[i].name == name {
			return &f.fields[i]
		}
	}
	return nil
}

func appendMember(dst, key, value []byte) []byte {
	return rawjson.AppendLine(append(append(separate(dst), key...), ':'), value)
}

// problem says that a value does not fit the field.
func (f *field) problem() string { return shownKey(f.name) + " wants " + f.wants() }

// wants says what a value must be.
func (f *field) wants() string {
	text := f.kind.wants
	if format := formats[f.format()]; format != nil {
		text = format.wants
	}
	least, most := f.bound(f.kind.least), f.bound(f.kind.most)
	switch {
	case least != "" && most != "":
		text += ", " + least + " to " + most + f.kind.unit
	case least != "":
		text += ", at least " + least + f.kind.unit
	case most != "":
		text += ", at most " + most + f.kind.unit
	}
	if f.object.Get("pattern") != nil {
		text += ", in the pattern of the form"
	}
	return text
}

// bound returns a bound of the field as it is written; "" for none, or one that is
// not worth showing.
func (f *field) bound(keyword string) string {
	const shown = 24
	value := f.object.Get(keyword)
	if keyword == "" || rawjson.KindOf(value) != rawjson.Number || len(value) > shown {
		return ""
	}
	return string(value)
}
