package mcptools

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
)

const form = `{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}`

func confirm(*pack.Question) *pack.Answer {
	return &pack.Answer{Action: pack.Accept, Content: pack.Raw(`{"confirm":true}`)}
}

// asking is a call of a server with a handshake that asks on its own stream before
// it answers with what it was told.
func asking(params string) func(context.Context, *mcpclient.Request, mcpclient.Handler) (string, error) {
	return func(ctx context.Context, req *mcpclient.Request, h mcpclient.Handler) (string, error) {
		result, refusal := h.Request(ctx, "elicitation/create", []byte(params))
		if refusal != nil {
			return answering("refused: "+refusal.Message)(ctx, req, h)
		}
		return answering(string(result))(ctx, req, h)
	}
}

// begin starts a call under a run and returns where its text comes.
func (w *world) begin(p pack.Pack, id, tool, run string) <-chan string {
	done := make(chan string, 1)
	go func() {
		result, err := p.Invoke(w.t.Context(), &pack.Call{ID: pack.Raw(id), Tool: tool, Run: run})
		if err != nil {
			done <- "error: " + err.Error()
			return
		}
		done <- string(result.Content)
	}()
	synctest.Wait()
	return done
}

func TestS2_12_TheOneRunRule(t *testing.T) {
	const params = `{"message":"Sure?","requestedSchema":` + form + `}`
	type call struct{ pack, run string }
	for _, row := range []struct {
		name   string
		others []call // in flight already when the call of pack one, run r, asks
		run    string
		asked  bool
	}{
		{"the only call", nil, "r", true},
		{"the only call, without a run", nil, "", true},
		{"another of the same run", []call{{"one", "r"}}, "r", true},
		{"another run", []call{{"one", "s"}}, "r", false},
		{"the same run of another pack", []call{{"two", "r"}}, "r", false},
		{"two calls without a run", []call{{"one", ""}}, "", false},
		{"three, of which one is of another run", []call{{"one", "r"}, {"one", "s"}}, "r", false},
	} {
		bubble(t, func(t *testing.T, w *world) {
			f := w.serve("files", tool("ask", ""), tool("hang", ""))
			f.legacy = true
			f.call = func(ctx context.Context, req *mcpclient.Request, h mcpclient.Handler) (string, error) {
				if req.Name == "hang" {
					return hanging(ctx, req, h)
				}
				return asking(params)(ctx, req, h)
			}
			packs := map[string]pack.Pack{}
			for _, id := range []string{"two", "one"} {
				packs[id] = w.construct(id, `{"servers":{"files":`+localEntry+`}}`)
			}
			w.answer = confirm
			for i, other := range row.others {
				w.begin(packs[other.pack], fmt.Sprint(10+i), "files_hang", other.run)
			}
			got := <-w.begin(packs["one"], "99", "files_ask", row.run)
			want, asked := "accept", w.asked()
			if !row.asked {
				want = "decline"
			}
			if !strings.Contains(got, want) || len(asked) > 0 != row.asked {
				t.Errorf("%s: the server got %s, the host %d questions", row.name, got, len(asked))
			}
			if row.asked {
				first := "99"
				if len(row.others) > 0 {
					first = "10" // the oldest of the run's calls
				}
				q := asked[0]
				if string(q.Invoke) != first || q.Run != row.run || q.Server != "files" || q.Message != "Sure?" || string(q.Schema) != form {
					t.Errorf("%s: asked %+v", row.name, q)
				}
			}
		})
	}
}

func TestS2_12_AQuestionOfNoCallIsDeclined(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("files", tool("a", ""))
		f.legacy, f.capabilities = true, `{"tools":{"listChanged":true}}`
		w.dial("files")
		result, refusal := f.newest().listener().Request(t.Context(), "elicitation/create", []byte(`{"message":"Your password?","requestedSchema":`+form+`}`))
		if refusal != nil || string(result) != `{"action":"decline"}` || len(w.asked()) != 0 {
			t.Errorf("got %s, %v and %d questions", result, refusal, len(w.asked()))
		}
	})
}

func TestS2_15_ModesAreThoseOfTheHost(t *testing.T) {
	for _, row := range []struct {
		asks map[pack.QuestionKind]bool
		want string
	}{
		{map[pack.QuestionKind]bool{pack.AskForm: true, pack.AskURL: true}, `"capabilities":{"elicitation":{"form":{},"url":{}}}`},
		{map[pack.QuestionKind]bool{pack.AskForm: true}, `"capabilities":{"elicitation":{"form":{}}}`},
		{map[pack.QuestionKind]bool{pack.AskURL: true}, `"capabilities":{"elicitation":{"url":{}}}`},
		{nil, `"capabilities":{}`},
	} {
		bubble(t, func(t *testing.T, w *world) {
			f := w.serve("files")
			f.legacy = true
			w.host.Asks = row.asks
			w.dial("files")
			if sent := f.sent("initialize"); len(sent) != 1 || !strings.Contains(sent[0], row.want) {
				t.Errorf("sent %q, want %s", sent, row.want)
			}
		})
	}
}

func TestS2_16_UpToFiveRounds(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("crm", tool("delete", ""))
		asks := 5
		f.call = func(ctx context.Context, req *mcpclient.Request, h mcpclient.Handler) (string, error) {
			if n := len(f.sent("tools/call")); n <= asks {
				return fmt.Sprintf(`{"resultType":"input_required","requestState":"s%d","inputRequests":{"q":{"method":"elicitation/create","params":{"mode":"form","message":"%d?","requestedSchema":%s}}}}`, n, n, form), nil
			}
			return answering("deleted")(ctx, req, h)
		}
		w.dial(`crm "timeoutMs":1000`)
		w.answer = func(q *pack.Question) *pack.Answer {
			time.Sleep(time.Minute) // the user thinks; the deadline stands still
			return confirm(q)
		}
		if got := w.text("crm_delete", `{"account":"Acme"}`); got != "deleted" {
			t.Errorf("got %q", got)
		}
		sent := f.sent("tools/call")
		if len(sent) != 6 || len(w.asked()) != 5 {
			t.Fatalf("%d requests, %d questions", len(sent), len(w.asked()))
		}
		for i, body := range sent[1:] {
			for _, part := range []string{fmt.Sprintf(`"requestState":"s%d"`, i+1), `"arguments":{"account":"Acme"}`, `"q":{"action":"accept","content":{"confirm":true}}`} {
				if !strings.Contains(body, part) {
					t.Errorf("round %d: %s is not in %s", i+2, part, body)
				}
			}
		}
		f.change(func() { f.bodies = nil })
		asks = 100
		w.refusal(pack.KindTransport, "crm_delete", `{}`, "elicit_rounds (5)")
		if n := len(f.sent("tools/call")); n > 6 {
			t.Errorf("%d rounds", n)
		}
	})
}

func TestS2_16_CancelWithdrawsTheQuestion(t *testing.T) {
	for _, legacy := range []bool{true, false} {
		bubble(t, func(t *testing.T, w *world) {
			f := w.serve("crm", tool("delete", ""))
			f.legacy = legacy
			f.call = func(ctx context.Context, req *mcpclient.Request, h mcpclient.Handler) (string, error) {
				if legacy { // the server's question has a context of its own
					return asking(`{"message":"Sure?","requestedSchema":`+form+`}`)(context.WithoutCancel(ctx), req, h)
				}
				return `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Sure?","requestedSchema":` + form + `}}}}`, nil
			}
			w.dial("crm")
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan error, 1)
			go func() {
				_, err := w.pack.Invoke(ctx, &pack.Call{Tool: "crm_delete"})
				failed <- err
			}()
			synctest.Wait()
			if len(w.asked()) != 1 {
				t.Fatalf("legacy %v: %d questions", legacy, len(w.asked()))
			}
			cancel()
			wantError(t, <-failed, pack.KindCancelled)
			synctest.Wait() // the question's asker has gone too, or the bubble would not end
		})
	}
}

func TestS2_16_TheDeadlineStandsStillForAQuestionOfAnotherStream(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("crm", tool("delete", ""))
		f.legacy = true
		f.call = asking(`{"message":"Sure?","requestedSchema":` + form + `}`)
		w.dial(`crm "timeoutMs":1000`)
		w.answer = func(q *pack.Question) *pack.Answer {
			time.Sleep(5 * time.Minute)
			return confirm(q)
		}
		if got := w.text("crm_delete", `{}`); !strings.Contains(got, "accept") {
			t.Errorf("got %q", got)
		}
	})
}
