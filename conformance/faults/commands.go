package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// This file plays entries whose command cannot be started, behind the pack that starts
// servers.

func commandRows() []row {
	rows := rowsBehind(direct, []fault{{
		id: "B203", mode: "cfg-bad-command", in: overStdio, must: "each is failed with the cause at once, the good one works",
		servers: func(p *play) (string, error) {
			file, err := exec.CommandContext(p.ctx, p.faultserver, "-mode", p.row.mode, "-url", p.good.URL()).Output()
			if err != nil {
				return "", err
			}
			var config struct{ McpServers map[string]json.RawMessage }
			if err := json.Unmarshal(file, &config); err != nil {
				return "", err
			}
			delete(config.McpServers, "good") // every play has one
			var members []string
			for name, entry := range config.McpServers {
				members = append(members, quote(name)+":"+string(entry))
			}
			return strings.Join(members, ","), nil
		},
		judge: func(p *play) {
			for name, cause := range map[string]string{
				"missing": `"no-such-program-9z" was not found`, "not_exec": `"/etc/hostname" is no`, // not executable; where it is so, no program
				"bad_cwd": "the directory in cwd does not exist", "spaces": `"/opt/my tools/server" was not found`,
			} {
				s := p.status(name)
				p.want(s.Status == "error" && strings.Contains(s.Error, cause), "the server %q is %q: %s", name, s.Status, s.Error)
				o := p.invoke(name, "echo", `{}`)
				p.want(o.err != nil && o.err.Data.Kind == "message", "a call to %q: %v", name, o)
			}
			took := time.Since(p.began)
			p.want(took < atOnce, "that took %v", took)
			p.want(p.status("good").Status == "ready", "the good server is %v", p.status("good"))
		},
	}})
	return append(rows, commandSiblings()...)
}

func commandSiblings() []row {
	// script writes a file that is executable, and says what its entry is.
	script := func(text string) func(p *play) map[string]any {
		return func(p *play) map[string]any {
			file := filepath.Join(p.work, "script")
			p.fail(os.WriteFile(file, []byte(text), 0o700))
			return map[string]any{"command": file}
		}
	}
	var faults []fault
	for _, r := range []struct {
		name   string
		entry  func(p *play) map[string]any
		causes []string
	}{
		{"a directory", func(p *play) map[string]any { return map[string]any{"command": p.work} }, []string{"is a directory"}},
		{"a cwd that is a file", func(p *play) map[string]any {
			return map[string]any{"command": p.faultserver, "cwd": p.faultserver}
		}, []string{"cwd is not a directory"}},
		{"a script for a program that is missing", script("#!/no/such/interpreter-9z\n"), []string{"first line", "does not exist"}},
		{"a script without its first line", script("echo hello\n"), []string{"is no program of this system"}},
		{"an empty file", script(""), []string{"is no program of this system"}},
		{"a program of a relative directory of PATH", func(p *play) map[string]any {
			return map[string]any{"command": filepath.Base(p.faultserver), "env": map[string]string{"PATH": "."}, "cwd": filepath.Dir(p.faultserver)}
		}, []string{"was not found"}},
		{"a name with line breaks and a sequence for terminals", func(*play) map[string]any {
			return map[string]any{"command": "no\nsuch\x1b[2Jprogram\u202e"}
		}, []string{"was not found"}},
		{"a secret in its path", func(*play) map[string]any {
			return map[string]any{"command": "/no/${env:" + tokenName + "}/server"}
		}, []string{"was not found", "${env:" + tokenName + "}"}},
	} {
		faults = append(faults, fault{
			id: "B203", name: r.name, in: overStdio, must: "it is failed with the cause at once",
			servers: func(p *play) (string, error) { return faultyEntry(r.entry(p)) },
			judge:   func(p *play) { p.fails(r.causes...) },
		})
	}
	faults = append(faults, fault{
		id: "B203", name: "a program that is installed later", in: overStdio, must: "it is tried again, and works without a restart of anything",
		servers: func(p *play) (string, error) {
			return faultyEntry(map[string]any{"command": filepath.Join(p.work, "later"), "args": []string{"-mode", "stdio-healthy"}, "env": map[string]string{markName: p.work}})
		},
		judge: func(p *play) {
			p.fails("was not found")
			p.fail(os.Symlink(p.faultserver, filepath.Join(p.work, "later")))
			p.readyWithin(5 * sec)
			p.echo("at last")
		},
	})
	return rowsBehind(direct, faults)
}

// faultyEntry is the configuration of one faulty server.
func faultyEntry(entry map[string]any) (string, error) {
	text, err := json.Marshal(entry)
	return fmt.Sprintf(`"faulty":%s`, text), err
}
