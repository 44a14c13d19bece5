package mcpclient

import (
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/redact"
)

// A Process is how a local server is started: a program with its arguments, which
// no shell reads. No verb prints a value of it, since a variable's value may be
// part of any.
type Process struct {
	Command redact.Secret   // looked up in PATH when it holds no separator
	Args    []redact.Secret // each is one argument, whatever it holds
	Env     []Variable      // in document order, names distinct
	Dir     redact.Secret   // the directory to start in; "" for that of this process
	Shown   string          // the command as the configuration writes it, placeholders and all
}

// A Variable is one environment variable of a Process.
type Variable struct {
	Name  string
	Value redact.Secret
}

// Equal reports whether two processes would be started in the same way.
func (p *Process) Equal(other *Process) bool {
	if !p.Command.Equal(other.Command) || !p.Dir.Equal(other.Dir) ||
		len(p.Args) != len(other.Args) || len(p.Env) != len(other.Env) {
		return false
	}
	for i, arg := range p.Args {
		if !arg.Equal(other.Args[i]) {
			return false
		}
	}
	for i, v := range p.Env {
		if v.Name != other.Env[i].Name || !v.Value.Equal(other.Env[i].Value) {
			return false
		}
	}
	return true
}

// local reads the members of a local entry.
func (p *entryParser) local() error {
	p.entry.Process = &Process{}
	for _, step := range []func() error{p.sandbox, p.command, p.args, p.env, p.dir, p.protocolVersion} {
		if err := step(); err != nil {
			return err
		}
	}
	p.foreignFields()
	return nil
}

// sandbox refuses an entry that relies on a protection which is not there.
func (p *entryParser) sandbox() error {
	for _, key := range []string{"sandboxEnabled", "sandbox", "isolation"} {
		if !off(p.object.Get(key)) && p.object.Get(key) != nil {
			return refuse("%s is not supported: the server would run without it; remove it to accept that", key)
		}
	}
	return nil
}

// command reads the program, which may be written as an array with arguments.
func (p *entryParser) command() error {
	value := p.object.Get("command")
	if rawjson.KindOf(value) == rawjson.Array {
		words := rawjson.Elements(value)
		if len(words) == 0 {
			return refuse("command is empty")
		}
		for _, word := range words[1:] {
			if err := p.arg("command", word); err != nil {
				return err
			}
		}
		value = words[0]
	}
	text, err := p.argument("command", value)
	if err != nil {
		return err
	}
	if strings.TrimSpace(text) == "" {
		return refuse("command is empty")
	}
	written := rawjson.Text(value)
	program, _, spaced := strings.Cut(strings.TrimSpace(written), " ")
	if spaced && p.object.Get("args") == nil && !strings.ContainsAny(program, `/\`) { // else a path may hold the space
		p.warn("command holds spaces and is taken as the name of one program; write the arguments into args")
	}
	p.entry.Process.Command = redact.NewSecret(text)
	p.entry.Process.Shown = written
	return nil
}

func (p *entryParser) args() error {
	value := p.object.Opt("args")
	if kind := rawjson.KindOf(value); value != nil && kind != rawjson.Array {
		return refuse("args must be an array of strings, not %s", kind)
	}
	for i, arg := range rawjson.Elements(value) {
		if err := p.arg(fmt.Sprintf("args[%d]", i), arg); err != nil {
			return err
		}
	}
	return nil
}

func (p *entryParser) arg(key string, value []byte) error {
	text, err := p.argument(key, value)
	if err == nil {
		p.entry.Process.Args = append(p.entry.Process.Args, redact.NewSecret(text))
	}
	return err
}

// env reads the variables that the server gets besides those that every server
// gets. null leaves a variable out.
func (p *entryParser) env() error {
	value := p.object.Opt("env")
	if kind := rawjson.KindOf(value); value != nil && kind != rawjson.Dict {
		return refuse("env must be an object, not %s", kind)
	}
	seen := map[string]bool{}
	for _, m := range rawjson.Members(value) {
		name := m.Name()
		key := "env: " + shownKey(name)
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return refuse("%s is no name of a variable", key)
		case seen[name]:
			return refuse("%s stands twice", key)
		case rawjson.KindOf(m.Value) == rawjson.Null:
			continue
		}
		seen[name] = true
		text, err := p.argument(key, m.Value)
		if err != nil {
			return err
		}
		p.secret(text)
		p.entry.Process.Env = append(p.entry.Process.Env, Variable{name, redact.NewSecret(text)})
	}
	return nil
}

func (p *entryParser) dir() error {
	value := p.object.Opt("cwd")
	if value == nil {
		return nil
	}
	text, err := p.argument("cwd", value)
	p.entry.Process.Dir = redact.NewSecret(text)
	return err
}

// argument returns the expanded text of a value that a process is given. Numbers
// and booleans, which people write without quotes, are taken as they are written.
func (p *entryParser) argument(key string, value []byte) (string, error) {
	switch rawjson.KindOf(value) {
	case rawjson.Number, rawjson.Bool:
		p.warn("%s is not written as a string; it is passed as it is written", key)
		return string(value), nil
	}
	text, err := p.text(key, value)
	if err == nil && strings.ContainsRune(text, 0) {
		err = refuse("%s holds a NUL character", key)
	}
	return text, err
}
