package stdiomcp

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

// inherited are the variables of our own environment that a server gets (T64): what
// a program needs to find its user, its tools and its language, and no credential.
// A name that ends in * stands for all that begin so.
var inherited = map[bool][]string{
	false: {"HOME", "LANG", "LC_*", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"},
	true: {"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT",
		"PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP",
		"USERNAME", "USERPROFILE", "WINDIR"},
}

const onWindows = runtime.GOOS == "windows"

// environ returns the environment of a server: what is inherited, and the entry's
// own variables, which win.
func environ(own []string) []string {
	set := map[string]bool{}
	for _, v := range own {
		set[variableName(v)] = true
	}
	var env []string
	for _, v := range os.Environ() {
		if name := variableName(v); inherits(name, v) && !set[name] {
			env = append(env, v)
		}
	}
	return append(env, own...)
}

func inherits(name, variable string) bool {
	if strings.HasPrefix(variable[min(len(name)+1, len(variable)):], "()") {
		return false // a function of a shell, which another shell would run
	}
	return slices.ContainsFunc(inherited[onWindows], func(allowed string) bool {
		prefix, open := strings.CutSuffix(allowed, "*")
		return name == allowed || open && strings.HasPrefix(name, prefix)
	})
}

// variableName returns the name of NAME=value in the form to compare: Windows knows
// no case in names, and has some that begin with "=".
func variableName(variable string) string {
	if variable == "" {
		return ""
	}
	i := strings.IndexByte(variable[1:], '=') + 1
	if i == 0 {
		i = len(variable)
	}
	if onWindows {
		return strings.ToUpper(variable[:i])
	}
	return variable[:i]
}

// valueOf returns the value of a variable in env, "" when it is not there.
func valueOf(env []string, name string) string {
	for _, v := range slices.Backward(env) {
		if variableName(v) == name {
			return v[min(len(name)+1, len(v)):]
		}
	}
	return ""
}
