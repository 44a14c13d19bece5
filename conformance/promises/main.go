// Command promises runs the module's tests and prints each promise of the
// product with the tests that carry its id in their names and how they ended. It
// fails when a promise has no test, when one of its tests did not pass, and when
// any other test failed.
//
//	go run ./conformance/promises               # runs go test -json ./...
//	go run ./conformance/promises -race         # flags go to go test
//	go run ./conformance/promises ./pack/mcp    # and packages too
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// promises are what the packs promise, in a few words each: S1 is runvil/mcp, S2
// tanstack/mcp.
var promises = []struct{ id, text string }{
	{"S1-01", "the pack's name, id, description; Install; duplicate packs"},
	{"S1-02", "the configuration is the mcpServers object"},
	{"S1-03", "exactly two tools, under the id that construct received"},
	{"S1-04", "get_dynamic_tools answers JSON text, in three depths"},
	{"S1-05", "call_dynamic_tool calls a server's tool"},
	{"S1-06", "namespaces and tool names match to the letter"},
	{"S1-07", "a status is ready, loading, or error with the reason"},
	{"S1-08", "a description is the description, else the title, else the name"},
	{"S1-09", "errors that a model can read"},
	{"S1-10", "each entry is parsed on its own, and refused on its own"},
	{"S1-11", "${env:NAME} and ${userHome}, and no other form"},
	{"S1-12", "headers that an entry may not set"},
	{"S1-13", "construct does no I/O and needs a runtime"},
	{"S1-14", "one task an entry connects and lists within two minutes"},
	{"S1-15", "ready resolves at once"},
	{"S1-16", "a failed start is retried after 1 s, doubling to 60 s, for ever"},
	{"S1-17", "a ready server stays ready"},
	{"S1-18", "a call waits up to five minutes"},
	{"S1-19", "how content blocks become text"},
	{"S1-20", "isError is a backend error; a broken wire is a transport error"},
	{"S1-21", "dropping a call tells the server"},
	{"S1-22", "no capabilities are declared, as {}"},
	{"S1-23", "no redirect is followed"},
	{"S1-24", "every output is marked untrusted, errors too"},
	{"S1-25", "no value of env or headers is ever shown"},
	{"S1-26", "no process is started"},
	{"S1-27", "the import rule; only Install and its options are exported"},
	{"S2-01", "servers in document order, local or remote, each judged on its own"},
	{"S2-02", "oauth: its commands, its approvals, tools after the sign-in"},
	{"S2-03", "timeoutMs: to connect, to list, to answer a call"},
	{"S2-04", "codeMode is passed on"},
	{"S2-05", "needsApproval: every call that matches asks, and nothing runs without a yes"},
	{"S2-06", "tools are named <server>_<tool>, or as toolName says"},
	{"S2-07", "statuses: connecting, connected, reconnecting, failed, with the count of tools"},
	{"S2-08", "a server that fails does not stop the others"},
	{"S2-09", "the first ready waits for the servers; tools can be used before"},
	{"S2-10", "one process for all packs with the same local server"},
	{"S2-11", "reconnects after 0.5 s, doubling to 30 s, anew after 30 s of life"},
	{"S2-12", "a question that names no call goes only to the one run that calls"},
	{"S2-13", "tools/list_changed: the next ready lists again, changed is sent"},
	{"S2-14", "the same name twice: the first server keeps it, or the later one fails"},
	{"S2-15", "elicitation is declared in the modes that the host takes"},
	{"S2-16", "a call that asks waits for the answer, up to 5 times, its deadline standing still"},
	{"S2-17", "prompts as entries; resources listed and read"},
}

func main() {
	ok, err := run(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "promises:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) (ok bool, err error) {
	if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, ".") }) {
		args = append(args, "./...")
	}
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	results, err := collect(events)
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return false, err
	}
	// The exit code of go test says nothing that the results do not, save that
	// a package did not build, which it has said on stderr.
	built := cmd.Wait() == nil
	return report(out, results) && built, nil
}

// An event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
}

// A result is how one test, or one package as a whole, ended.
type result struct {
	name   string // package and test
	action string // pass, fail, skip
	output string // of a test that failed
}

// collect reads the events of one run.
func collect(r io.Reader) ([]result, error) {
	outputs := map[string]*strings.Builder{}
	var results []result
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("go test -json wrote %q: %w", lines.Text(), err)
		}
		name := strings.TrimSuffix(e.Package+" "+e.Test, " ")
		switch e.Action {
		case "output":
			if outputs[name] == nil {
				outputs[name] = new(strings.Builder)
			}
			outputs[name].WriteString(e.Output)
		case "pass", "fail", "skip":
			r := result{name: name, action: e.Action}
			if e.Action == "fail" && outputs[name] != nil {
				r.output = outputs[name].String()
			}
			delete(outputs, name)
			results = append(results, r)
		}
	}
	return results, lines.Err()
}

// named finds ids in the name of a test: TestS1_04_Listing, or a subtest "S1-04
// one tool". A test may prove several, as TestS1_04_05_Both.
var named = regexp.MustCompile(`S([12])((?:[-_][0-9][0-9])+)(?:[^0-9]|$)`)

func idsOf(test string) []string {
	ids := map[string]bool{}
	for _, match := range named.FindAllStringSubmatch(test, -1) {
		for number := range strings.FieldsFuncSeq(match[2], func(r rune) bool { return r == '-' || r == '_' }) {
			ids["S"+match[1]+"-"+number] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// report prints the table and returns whether all is well.
func report(out io.Writer, results []result) bool {
	ok := true
	carried := map[string][]result{}
	packages, tests := 0, 0
	for _, r := range results {
		pkg, test, isTest := strings.Cut(r.name, " ")
		if !isTest {
			packages++
		} else {
			tests++
		}
		if r.action == "fail" {
			ok = false
			fmt.Fprintf(out, "%s %s failed:\n%s\n", pkg, test, r.output)
		}
		for _, id := range idsOf(test) {
			carried[id] = append(carried[id], r)
		}
	}
	kept := 0
	for _, p := range promises {
		proofs := carried[p.id]
		delete(carried, p.id)
		state := "kept"
		switch {
		case len(proofs) == 0:
			state = "MISSING"
		case slices.ContainsFunc(proofs, func(r result) bool { return r.action != "pass" }):
			state = "BROKEN"
		default:
			kept++
		}
		fmt.Fprintf(out, "%s %-7s %s\n", p.id, state, p.text)
		for _, r := range proofs {
			fmt.Fprintf(out, "      %s %s\n", r.action, strings.TrimPrefix(r.name, "github.com/toolhost/toolhost/"))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(carried)) {
		ok = false
		fmt.Fprintf(out, "%s STRANGE there is no such promise\n", id)
	}
	fmt.Fprintf(out, "\n%d of %d promises kept; %d tests in %d packages\n", kept, len(promises), tests, packages)
	return ok && kept == len(promises)
}
