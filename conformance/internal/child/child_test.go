package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain lets the test binary play a toolhost: `serve` answers each request with
// its params, and does what the method says besides.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		play(os.Args[2:])
	}
	os.Exit(m.Run())
}

func play(args []string) {
	lsp := len(args) > 0 && args[0] == "lsp"
	put := func(message string) {
		if lsp {
			fmt.Printf("Content-Type: application/json\r\ncontent-length: %d\r\n\r\n%s", len(message), message)
		} else {
			fmt.Println(message)
		}
	}
	in := bufio.NewReader(os.Stdin)
	for {
		text, err := in.ReadString('\n')
		if err != nil {
			os.Exit(7)
		}
		if value, ok := strings.CutPrefix(text, "Content-Length: "); ok {
			length, _ := strconv.Atoi(strings.TrimSpace(value))
			body := make([]byte, 2+length)
			for n := 0; n < len(body); {
				k, err := in.Read(body[n:])
				if err != nil {
					os.Exit(8)
				}
				n += k
			}
			text = string(body)
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		if json.Unmarshal([]byte(text), &m) != nil {
			os.Exit(9)
		}
		answer := `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + string(m.Params) + `}`
		switch m.Method {
		case "twice":
			put(answer)
			put(answer)
		case "noise":
			put("no JSON")
			put(`{"jsonrpc":"2.0","id":404,"result":1}`)
			put(answer)
		case "notify":
			put(`{"jsonrpc":"2.0","method":"status","params":{"n":1}}`)
			put(answer)
		case "fail":
			put(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32001,"message":"no","data":{"kind":"message"}}}`)
		case "die":
			os.Exit(3)
		case "hang":
			select {}
		default:
			put(answer)
		}
	}
}

func start(t *testing.T, opts Options) (*Child, context.Context) {
	t.Helper()
	opts.Args = []string{string(opts.Framing)}
	opts.Env = append(opts.Env, "TOOLHOST_CHILD_TEST="+t.Name())
	c, err := Start(os.Args[0], opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return c, ctx
}

func TestBothFramings(t *testing.T) {
	for _, framing := range []Framing{Newline, LSP} {
		t.Run(string(framing), func(t *testing.T) {
			var notified []string
			c, ctx := start(t, Options{Framing: framing, Notify: func(method string, params json.RawMessage) {
				notified = append(notified, method+string(params))
			}})
			long := `{"text":"` + strings.Repeat("é", 5<<19) + `"}` // longer than the buffer
			for _, call := range []struct{ method, params string }{{"a", `{"x":1}`}, {"b", long}, {"notify", `[]`}} {
				reply, err := c.Call(ctx, call.method, call.params)
				if err != nil || string(reply.Result) != call.params {
					t.Errorf("%s: %.80s, %v", call.method, reply.Result, err)
				}
			}
			if fmt.Sprint(notified) != `[status{"n":1}]` {
				t.Errorf("notifications: %q", notified)
			}
			reply, err := c.Call(ctx, "fail", `{}`)
			if err != nil || reply.Error == nil || reply.Error.Code != -32001 || reply.Error.Data.Kind != "message" {
				t.Errorf("fail: %+v, %v", reply.Error, err)
			}
			if strays := c.Strays(); len(strays) != 0 {
				t.Errorf("strays: %q", strays)
			}
			if err := c.Stop(5 * time.Second); err == nil || !strings.Contains(err.Error(), "code 7") {
				t.Errorf("Stop: %v", err)
			}
		})
	}
}

func TestStraysAreKept(t *testing.T) {
	c, ctx := start(t, Options{})
	for _, method := range []string{"twice", "noise", "last"} {
		if _, err := c.Call(ctx, method, `{}`); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, "no JSON", `{"jsonrpc":"2.0","id":404,"result":1}`}
	if got := c.Strays(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("strays: %q", got)
	}
	c.Stop(5 * time.Second)
}

func TestCheckSeesBothDirectionsInOrder(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	c, ctx := start(t, Options{Check: func(direction string, message []byte) error {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, direction+" "+string(message))
		if direction == ChildToHost {
			return errors.New("wrong")
		}
		return nil
	}})
	if _, err := c.Call(ctx, "x", `0`); err != nil {
		t.Fatal(err)
	}
	want := []string{`host-to-child {"jsonrpc":"2.0","id":1,"method":"x","params":0}`, `child-to-host {"jsonrpc":"2.0","id":1,"result":0}`}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("seen: %q", seen)
	}
	if got := c.Strays(); len(got) != 1 || got[0] != `child-to-host: wrong: {"jsonrpc":"2.0","id":1,"result":0}` {
		t.Errorf("strays: %q", got)
	}
	c.Stop(5 * time.Second)
}

func TestTakeComesFirst(t *testing.T) {
	taken := make(chan string, 1)
	c, _ := start(t, Options{Take: func(message []byte) bool { taken <- string(message); return true }})
	if err := c.Write(`{"jsonrpc":"2.0","id":5,"method":"x","params":0}`); err != nil {
		t.Fatal(err)
	}
	if got := <-taken; got != `{"jsonrpc":"2.0","id":5,"result":0}` {
		t.Errorf("took %q", got)
	}
	c.Stop(5 * time.Second)
}

func TestDeathOfTheChildIsHeardByAll(t *testing.T) {
	c, ctx := start(t, Options{})
	_, waiting, err := c.Send("hang", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Process.Kill()
	if _, err := c.Await(ctx, waiting); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("a call in flight: %v", err)
	}
	if _, err := c.Call(ctx, "x", `{}`); err == nil {
		t.Error("a call after the end gave no error")
	}
	if code, err := c.Wait(ctx); code != -1 || err != nil {
		t.Errorf("Wait: %d, %v", code, err)
	}
}

func TestWaitKillsWhatDoesNotEnd(t *testing.T) {
	c, _ := start(t, Options{})
	if _, _, err := c.Send("hang", `{}`); err != nil {
		t.Fatal(err)
	}
	c.CloseInput()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Wait(ctx); err == nil || !strings.Contains(err.Error(), "did not end") {
		t.Errorf("Wait: %v", err)
	}
}

func TestUsageAndMarks(t *testing.T) {
	if runtime.GOOS != "linux" {
		if _, err := UsageOf(os.Getpid()); err != ErrNoProc {
			t.Errorf("UsageOf: %v", err)
		}
		return
	}
	c, ctx := start(t, Options{})
	if _, err := c.Call(ctx, "x", `{}`); err != nil {
		t.Fatal(err)
	}
	before, err := UsageOf(c.PID())
	if err != nil || before.Files < 3 || before.Threads < 1 || before.RSS < 1<<20 {
		t.Errorf("UsageOf: %+v, %v", before, err)
	}
	found, err := Marked("TOOLHOST_CHILD_TEST=" + t.Name())
	if err != nil || len(found) != 1 || found[0].PID != c.PID() || !strings.HasSuffix(strings.TrimSpace(found[0].Command), "serve") {
		t.Errorf("Marked: %+v, %v", found, err)
	}
	if found, err := Marked("TOOLHOST_CHILD_TEST=" + t.Name()[:3]); err != nil || len(found) != 0 {
		t.Errorf("Marked by a part of the value: %+v, %v", found, err)
	}
	c.Stop(5 * time.Second)
	if found, err := Marked("TOOLHOST_CHILD_TEST=" + t.Name()); err != nil || len(found) != 0 {
		t.Errorf("Marked after the end: %+v, %v", found, err)
	}
}

func TestGoBuildSaysWhatIsWrong(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(folder+"/main.go", []byte("package main\nfunc main() { undefinedName() }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder+"/go.mod", []byte("module x\n\ngo 1.26.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := GoBuild(t.Context(), folder, folder+"/x"); err == nil || !strings.Contains(err.Error(), "undefinedName") {
		t.Errorf("GoBuild: %v", err)
	}
	if err := os.WriteFile(folder+"/main.go", []byte("package main\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := GoBuild(t.Context(), folder, folder+"/x")
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command(path).Run(); err != nil {
		t.Error(err)
	}
}
