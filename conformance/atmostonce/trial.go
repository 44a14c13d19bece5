package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
	"github.com/toolhost/toolhost/conformance/internal/child"
)

// The outcomes of a call: it succeeded, or it failed and data.delivered says so.
// none stands for an error that does not say it.
var outcomes = []string{"ok", "no", "unknown", "yes", "none"}

// A trial is one call and what came of it.
type trial struct {
	cause   string
	where   string // the rest of its description
	nonce   string
	outcome string
	text    string // of the answer or the error
	kind    string // of the error
	took    time.Duration
	kept    bool // it went out on a kept connection
	may     int  // how often it may be sent: 2 where a refusal proves that it has not run
	sent    int  // how often it was begun to be sent
	ran     int  // how often it ran
}

func (t trial) String() string {
	return fmt.Sprintf("%s, %s: %s after %v, sent %d times, ran %d times: %.200s", t.cause, t.where, t.outcome, t.took.Round(time.Millisecond), t.sent, t.ran, t.text)
}

// slow is far above what any of these calls needs.
const slow = 3 * time.Second

// violations says what is wrong with the outcome.
func (t trial) violations() []string {
	var list []string
	want := func(ok bool, format string, args ...any) {
		if !ok {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	want(t.ran <= 1, "it ran twice")
	want(t.sent <= t.may, "it was sent %d times", t.sent)
	want(t.took < slow, "it took too long")
	switch t.outcome {
	case "ok":
		want(t.ran == 1, "it succeeded and did not run")
		want(t.text == t.nonce, "the answer is of another call")
	case "no":
		want(t.ran == 0, "it ran although it was not delivered")
	case "yes":
		want(t.ran == 1, "it did not run although it was delivered")
	case "unknown":
	default:
		want(false, "the error does not say whether it was delivered")
	}
	want(t.outcome == "ok" || t.kind == "transport" || t.kind == "cancelled", "the error is of kind %q", t.kind)
	return list
}

// A world is one child, the proxy and the server.
type world struct {
	ctx    context.Context
	child  *child.Child
	proxy  *proxy
	server *server
	name   string
	calls  int
	trials []trial
	packs  int
}

// newWorld starts all three.
func newWorld(ctx context.Context, toolhost, name string, opts fakeserver.Options) (w *world, err error) {
	w = &world{ctx: ctx, name: name}
	if w.server, err = newServer(opts); err != nil {
		return nil, err
	}
	if w.proxy, err = newProxy(w.server.addr()); err != nil {
		w.server.close()
		return nil, err
	}
	if w.child, err = child.Start(toolhost, child.Options{}); err != nil {
		w.proxy.close()
		w.server.close()
		return nil, err
	}
	return w, nil
}

// end stops everything, and asks the ledger about every call.
func (w *world) end() ([]trial, error) {
	err := w.child.Stop(5 * time.Second)
	if strays := w.child.Strays(); err == nil && len(strays) > 0 {
		err = fmt.Errorf("messages that no host should see: %q", strays)
	}
	w.proxy.close()
	w.server.close()
	ran := map[string]int{}
	for _, r := range w.server.fake.Ledger().Runs {
		ran[r.Nonce]++
	}
	for i := range w.trials {
		t := &w.trials[i]
		t.ran, t.sent = ran[t.nonce], w.proxy.sent(t.nonce)
	}
	return w.trials, err
}

// The entries of a pack: with and without the headers on which net/http sends a
// request again by itself.
var entries = []string{"plain", "keyed"}

// construct builds a pack over the proxy and waits until its servers are ready.
func (w *world) construct() (id string, err error) {
	w.packs++
	id = "p" + strconv.Itoa(w.packs)
	url := `"url":"http://` + w.proxy.addr() + `/mcp"`
	config := `{"plain":{` + url + `},"keyed":{` + url + `,"headers":{"Idempotency-Key":"the-same","X-Idempotency-Key":"the-same"}}}`
	reply, err := w.child.Call(w.ctx, "construct", `{"pack":"runvil/mcp","id":"`+id+`","config":`+config+`}`)
	if err != nil || reply.Error != nil {
		return "", fmt.Errorf("construct: %v %v", err, reply.Error)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		reply, err := w.child.Call(w.ctx, "ready", `{"id":"`+id+`"}`)
		var ready struct {
			Servers []struct{ Status, Error string }
		}
		if err == nil {
			err = reply.Decode(&ready)
		}
		if err != nil {
			return "", fmt.Errorf("ready: %w", err)
		}
		if !slices.ContainsFunc(ready.Servers, func(s struct{ Status, Error string }) bool { return s.Status != "ready" }) {
			return id, nil
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("the servers are not ready: %v", ready.Servers)
		}
		time.Sleep(time.Millisecond)
	}
}

func (w *world) closePack(id string) error {
	reply, err := w.child.Call(w.ctx, "close", `{"id":"`+id+`"}`)
	if err == nil && reply.Error != nil {
		err = reply.Error
	}
	return err
}

// nonce returns the nonce of the next call, of constant length, so that every
// request of a job is as long as the others.
func (w *world) nonce() string {
	w.calls++
	return fmt.Sprintf("%s-%06d", w.name, w.calls)
}

// call makes one call and notes what came of it. interrupted, when not nil, gives
// the moment at which the host cancels.
func (w *world) call(t trial, pack, entry string, timeoutMs int, interrupted <-chan struct{}) (*trial, error) {
	params := `{"tool":"` + pack + `/call_dynamic_tool","arguments":{"namespace":"` + entry + `","toolName":"echo","arguments":{"text":"` + t.nonce + `","nonce":"` + t.nonce + `"}}`
	if timeoutMs > 0 {
		params += `,"timeoutMs":` + strconv.Itoa(timeoutMs)
	}
	began := time.Now()
	id, answer, err := w.child.Send("invoke", params+"}")
	if err != nil {
		return nil, err
	}
	if interrupted != nil {
		select {
		case <-interrupted:
			if err := w.child.Write(`{"jsonrpc":"2.0","method":"cancel","params":{"id":` + id + `}}`); err != nil {
				return nil, err
			}
		case <-time.After(slow):
		}
	}
	r, err := w.child.Await(w.ctx, answer)
	if err != nil {
		return nil, err
	}
	t.took = time.Since(began)
	if r.Error != nil {
		t.outcome, t.kind, t.text = r.Error.Data.Delivered, r.Error.Data.Kind, r.Error.Message
		if t.outcome == "" {
			t.outcome = "none"
		}
	} else {
		var result struct{ Content string }
		if err := json.Unmarshal(r.Result, &result); err != nil {
			return nil, err
		}
		t.outcome, t.text = "ok", result.Content
	}
	w.trials = append(w.trials, t)
	return &w.trials[len(w.trials)-1], nil
}
