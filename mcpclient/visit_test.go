package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// mustVisit refuses a call until those URLs are visited, with their place as id.
func mustVisit(urls ...string) side {
	var list []string
	for i, url := range urls {
		list = append(list, fmt.Sprintf(`{"mode":"url","elicitationId":"e%d","url":%q,"message":"Go to %d"}`, i+1, url, i+1))
	}
	return refuses(200, codeURLElicitation, "please sign in", `{"elicitations":[`+strings.Join(list, ",")+`]}`)
}

// visiting calls a tool of a server that refuses once. It returns how long that took.
func visiting(t *testing.T, ctx context.Context, modes map[ElicitMode]bool, elicit func(in *inbound, e *Elicitation) ElicitAnswer, refusal side) (took time.Duration, sent int, err error) {
	t.Helper()
	var in *inbound
	session, s := connectAs(t, legacyName, Options{Elicits: modes}, func(_ context.Context, req *Request, h Handler) (*Response, error) {
		in = h.(*inbound)
		return refusal(1, req)
	})
	began := time.Now()
	_, err = session.CallTool(ctx, "t", nil, &CallOptions{Elicit: func(_ context.Context, e *Elicitation) ElicitAnswer {
		return elicit(in, e)
	}})
	if n := len(session.visits.waiting); n != 0 {
		t.Errorf("%d visits are waited for after the call", n)
	}
	return time.Since(began), s.count(methodCall), err
}

func done(in *inbound, id string) {
	in.Notification(notificationComplete, []byte(`{"elicitationId":`+id+`}`))
}

func TestELI22_TheUserVisitsAndTheCallIsRetried(t *testing.T) {
	one, two := mustVisit("https://a.example/"), mustVisit("https://a.example/", "https://b.example/")
	agree := ElicitAnswer{Action: ElicitAccept}
	for _, test := range []struct {
		name    string
		refusal side
		elicit  func(in *inbound, e *Elicitation) ElicitAnswer
		asked   int
		took    time.Duration
		retried bool
	}{
		{"one, and the server says when", one, func(in *inbound, e *Elicitation) ElicitAnswer {
			time.AfterFunc(5*time.Second, func() { done(in, `"e1"`) })
			return agree
		}, 1, 5 * time.Second, true},
		{"two, complete before the answer and in the other order", two, func(in *inbound, e *Elicitation) ElicitAnswer {
			if e.ID == "e1" {
				done(in, `"e2"`)
				done(in, `"e2"`) // ELI-21
			} else {
				done(in, `"e1"`)
			}
			return agree
		}, 2, 0, true},
		{"ELI-21 other ids are ignored", one, func(in *inbound, e *Elicitation) ElicitAnswer {
			for _, id := range []string{`"e2"`, `5`, `null`, `""`, `"E1"`, `["e1"]`} {
				done(in, id)
			}
			in.Notification(notificationComplete, nil)
			return agree
		}, 1, visitTime, true},
		{"ELI-23 the server never says", two, func(*inbound, *Elicitation) ElicitAnswer { return agree }, 2, visitTime, true},
		{"the first is declined", two, func(*inbound, *Elicitation) ElicitAnswer { return ElicitAnswer{Action: ElicitDecline} }, 1, 0, false},
		{"the second is cancelled", two, func(_ *inbound, e *Elicitation) ElicitAnswer {
			if e.ID == "e2" {
				return ElicitAnswer{}
			}
			return agree
		}, 2, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				took, sent, err := visiting(t, t.Context(), bothModes, func(in *inbound, e *Elicitation) ElicitAnswer {
					asked++
					if want := fmt.Sprintf("Go to %d", asked); e.Message != want || e.Mode != ElicitURL {
						t.Errorf("asked %+v", e)
					}
					return test.elicit(in, e)
				}, test.refusal)
				// The server refuses for ever: the second refusal stands.
				if e := ask[*ServerError](t, err); e.Code != codeURLElicitation {
					t.Error(e)
				}
				want := 1
				if test.retried {
					want = 2
				}
				if sent != want || asked != test.asked || took != test.took {
					t.Errorf("%d sendings, %d questions, %v", sent, asked, took)
				}
			})
		})
	}
}

// ELI-22: an error that is not what the specification says passes as it is.
func TestELI22_MalformedData(t *testing.T) {
	good := `{"mode":"url","elicitationId":"e","url":"https://a.example/","message":"m"}`
	for _, data := range []string{
		``, `null`, `[]`, `{}`, `{"elicitations":null}`, `{"elicitations":[]}`, `{"elicitations":{}}`, `{"elicitations":[5]}`,
		`{"elicitations":[` + good + `,{"mode":"form","elicitationId":"f","message":"m","requestedSchema":` + nameForm + `}]}`,
		`{"elicitations":[{"elicitationId":"e","url":"https://a.example/","message":"m"}]}`,
		`{"elicitations":[{"mode":"url","url":"https://a.example/","message":"m"}]}`,
		`{"elicitations":[{"mode":"url","elicitationId":"e","message":"m"}]}`,
		`{"elicitations":[` + good + `,{"mode":"url","elicitationId":"e","url":"javascript:0","message":"m"}]}`,
		`{"elicitations":[` + strings.TrimSuffix(strings.Repeat(good+",", maxVisits+1), ",") + `]}`,
	} {
		_, sent, err := visiting(t, t.Context(), bothModes, func(*inbound, *Elicitation) ElicitAnswer {
			t.Errorf("%s: the user is asked", data)
			return ElicitAnswer{}
		}, refuses(200, codeURLElicitation, "please sign in", data))
		if e := ask[*ServerError](t, err); e.Message != "please sign in" || sent != 1 {
			t.Errorf("%s: %v after %d sendings", data, e, sent)
		}
	}
	never := func(*inbound, *Elicitation) ElicitAnswer {
		t.Error("the user is asked")
		return ElicitAnswer{}
	}
	if _, sent, _ := visiting(t, t.Context(), map[ElicitMode]bool{ElicitForm: true}, never, mustVisit("https://a.example/")); sent != 1 {
		t.Errorf("%d sendings where visits are not declared", sent)
	}
	if _, sent, _ := visiting(t, t.Context(), bothModes, never, refuses(200, -32603, "no", `{"elicitations":[`+good+`]}`)); sent != 1 {
		t.Errorf("%d sendings after another error", sent)
	}
}

// A code that a later revision does not know means nothing there (2026-07-28
// basic/index, "Error Codes").
func TestURLElicitationOfAModernServer(t *testing.T) {
	p := &person{}
	session, s := connectAs(t, modernName, Options{Elicits: bothModes}, func(_ context.Context, req *Request, _ Handler) (*Response, error) {
		return mustVisit("https://a.example/")(1, req)
	})
	_, err := session.CallTool(t.Context(), "t", nil, &CallOptions{Elicit: p.elicit})
	ask[*ServerError](t, err)
	if s.count(methodCall) != 1 || len(p.asked) != 0 {
		t.Errorf("%d sendings, %d questions", s.count(methodCall), len(p.asked))
	}
}

// A handshake that is refused with that code is no refusal of the call.
func TestURLElicitationOfTheHandshake(t *testing.T) {
	s := play(t, map[string]side{
		methodDiscover:   fails(400),
		methodInitialize: then(speaksLegacy(legacyName), mustVisit("https://a.example/")),
		methodCall:       always(sessionLost),
	})
	session, err := Connect(t.Context(), s, &Options{Elicits: bothModes})
	if err != nil {
		t.Fatal(err)
	}
	p := &person{}
	_, err = session.CallTool(t.Context(), "t", nil, &CallOptions{Elicit: p.elicit})
	if e := ask[*WireError](t, err); e.Delivered != "no" || len(p.asked) != 0 {
		t.Errorf("%+v, %d questions", e, len(p.asked))
	}
}

// A call that ends while the question is open ends by what ended it.
func TestCallEndsWhileTheVisitIsAsked(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, sent, err := visiting(t, ctx, bothModes, func(*inbound, *Elicitation) ElicitAnswer {
		cancel()
		return ElicitAnswer{}
	}, mustVisit("https://a.example/"))
	if !errors.Is(err, context.Canceled) || sent != 1 {
		t.Errorf("%v after %d sendings", err, sent)
	}
}

// ELI-23: the call can be cancelled while the visit is waited for.
func TestELI23_CancelWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		took, sent, err := visiting(t, ctx, bothModes, func(*inbound, *Elicitation) ElicitAnswer {
			return ElicitAnswer{Action: ElicitAccept}
		}, mustVisit("https://a.example/"))
		if !errors.Is(err, context.DeadlineExceeded) || sent != 1 || took != time.Second {
			t.Errorf("%v after %d sendings and %v", err, sent, took)
		}
	})
}

// Two calls wait for one visit.
func TestVisitOfTwoCalls(t *testing.T) {
	var v visits
	first, forget := v.expect("e")
	second, forgetSecond := v.expect("e")
	forget()
	v.complete("e")
	select {
	case <-first:
		t.Error("what was forgotten is told")
	default:
	}
	select {
	case <-second:
	default:
		t.Error("what is waited for is not told")
	}
	forgetSecond()
	v.complete("e")
	if len(v.waiting) != 0 {
		t.Errorf("%d are left", len(v.waiting))
	}
}
