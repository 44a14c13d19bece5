package stdiomcp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/redact"
)

// An order is what to start, values and all. It is never printed.
type order struct {
	path string   // of the program, absolute once it is resolved
	args []string // the argument vector, the command first
	env  []string
	dir  string // "" for ours

	stdin, stdout, stderr *os.File // the server's ends
}

// orderOf reads a Process. It does no I/O but reads our environment.
func orderOf(p *mcpclient.Process, scrub *redact.Scrubber) order {
	command := p.Command.Reveal("the program of a server")
	o := order{path: command, args: []string{command}, dir: p.Dir.Reveal("the directory of a server")}
	for _, arg := range p.Args {
		o.args = append(o.args, arg.Reveal("an argument of a server"))
	}
	var own []string
	for _, v := range p.Env {
		value := v.Value.Reveal("a variable of a server")
		scrub.Add(value)
		own = append(own, v.Name+"="+value)
	}
	o.env = environ(own)
	return o
}

// shownCommand bounds what is quoted of a command, in bytes.
const shownCommand = 128

// A launch resolves an order and words what is wrong with it. shown is the command
// as the configuration writes it: what is expanded in it may be secret.
type launch struct{ shown string }

func (l launch) fail(format string, args ...any) error {
	command := `"` + redact.Escape(redact.Cut(l.shown, shownCommand)) + `"`
	return &mcpclient.WireError{
		Op:        "start",
		Reason:    fmt.Sprintf("the command "+command+" "+format, args...),
		Delivered: "no",
	}
}

// resolve finds the program and checks the directory. The error is a
// *mcpclient.WireError; none is final, since people install what is missing.
func (l launch) resolve(o *order) error {
	if o.dir != "" {
		switch info, err := os.Stat(o.dir); {
		case errors.Is(err, fs.ErrNotExist):
			return l.fail("cannot be started: the directory in cwd does not exist; create it or correct cwd")
		case err != nil:
			return l.fail("cannot be started: the directory in cwd cannot be used: %s", cause(err))
		case !info.IsDir():
			return l.fail("cannot be started: cwd is not a directory")
		}
	}
	var err error
	if strings.ContainsAny(o.path, separators) {
		o.path, err = besides(o.path, o.dir)
	} else {
		o.path, err = search(o.path, valueOf(o.env, "PATH"))
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrDot):
		return l.fail("was found only in a directory of PATH that is not absolute, where no program is taken from; write its full path")
	case errors.Is(err, fs.ErrPermission):
		return l.fail("is not executable; make it so (chmod +x), or write the program that runs it as command and this file into args")
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return l.fail("was not found; install it, or write its full path")
	}
	return l.fail("cannot be used: %s", cause(err))
}

// separators are what stands between the names of a path.
var separators = map[bool]string{false: "/", true: `/\:`}[onWindows]

// besides returns the program at a path that may be relative to the directory that
// the server starts in.
func besides(path, dir string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return exec.LookPath(path)
}

// search looks for a program in the directories of path, which is the server's own
// PATH: that is where its entry says that its tools are. A directory that is not
// absolute would make the program depend on where toolhost was started, so that a
// repository could bring its own (T63).
func search(name, path string) (string, error) {
	failed := error(exec.ErrNotFound)
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if !filepath.IsAbs(dir) {
			file = "." + string(filepath.Separator) + file // else LookPath would search PATH itself
		}
		found, err := exec.LookPath(file)
		switch {
		case err == nil && filepath.IsAbs(dir):
			return found, nil
		case err == nil && failed == exec.ErrNotFound:
			failed = exec.ErrDot
		case errors.Is(err, fs.ErrPermission):
			failed = err
		}
	}
	return "", failed
}

// notStarted is the error of a program that the system refused to run.
func (l launch) notStarted(err error) error {
	for _, refusal := range refusals {
		if errors.Is(err, refusal.is) {
			return l.fail("%s", refusal.says)
		}
	}
	return l.fail("cannot be started: %s", cause(err))
}

// refusals are what exec says of a file that is there and is executable.
var refusals = []struct {
	is   error
	says string
}{
	{syscall.ENOENT, "cannot be started: the program that its first line names does not exist; install that"},
	{syscall.ENOEXEC, "is no program of this system; of a script, the first line must name what runs it, as #!/usr/bin/env node does"},
	{syscall.EACCES, "may not be run: the system refuses it"},
	{syscall.E2BIG, "has too many or too long arguments and variables for this system"},
}

// cause returns the system's word for an error, without the paths that Go adds.
func cause(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	return "the system gives no reason"
}
