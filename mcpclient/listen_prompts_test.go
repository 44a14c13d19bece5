package mcpclient

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What is subscribed to is what the server declares and somebody takes.
func TestSUB01_ListensForPrompts(t *testing.T) {
	const tools, prompts = `"tools":{"listChanged":true}`, `"prompts":{"listChanged":true}`
	for _, test := range []struct {
		name         string
		capabilities string
		interested   bool
		elicits      map[ElicitMode]bool
		want         string // the filter; "" where nothing is sent
		get          bool   // a GET stream is opened by the revisions that have one
	}{
		{"both", tools + "," + prompts, true, nil, "map[promptsListChanged:true toolsListChanged:true]", true},
		{"prompts only", prompts, true, nil, "map[promptsListChanged:true]", true},
		{"nobody takes them", tools + "," + prompts, false, nil, "map[toolsListChanged:true]", true},
		{"nobody takes the only ones", prompts, false, nil, "", false},
		{"not told of", tools + `,"prompts":{}`, true, nil, "map[toolsListChanged:true]", true},
		{"nothing is told of", `"tools":{},"prompts":{"listChanged":false}`, true, nil, "", false},
		{"nothing is told of, and the user can be asked", `"tools":{}`, false, bothModes, "", true},
		{"nothing is told of, and no mode is declared", `"tools":{}`, false, map[ElicitMode]bool{ElicitForm: false}, "", false},
	} {
		for _, version := range []string{legacyName, modernName} {
			t.Run(test.name+" "+version, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := offering(t, version, "{"+test.capabilities+"}", nil)
					s.listen = open
					opts := &Options{Elicits: test.elicits}
					if test.elicits != nil {
						opts.Elicit = (&person{}).elicit
					}
					if test.interested {
						opts.OnPromptsChanged = func() { t.Error("a change is told of that nobody spoke of") }
					}
					listeningTo(t, s, opts)
					got := ""
					if version == modernName && s.count("listen") > 0 {
						got = fmt.Sprint(paramsOf(t, s.last(methodListen))["notifications"])
					}
					want, listens := test.want, 1
					if version == legacyName && !test.get || version == modernName && want == "" {
						listens = 0
					}
					if version == legacyName {
						want = ""
					}
					if got != want || s.count("listen") != listens {
						t.Errorf("asked for %s on %d streams, want %s on %d", got, s.count("listen"), want, listens)
					}
				})
			})
		}
	}
}

// SUB-02: what the server grants is what it is heard of.
func TestSUB02_GrantedInPart(t *testing.T) {
	for _, test := range []struct {
		granted string
		open    bool
		hearing bool // of the tools
	}{
		{`{"toolsListChanged":true,"promptsListChanged":true}`, true, true},
		{`{"promptsListChanged":true}`, true, false},
		{`{"toolsListChanged":true,"promptsListChanged":"true"}`, true, true},
		{`{}`, false, false},
		{`{"resourcesListChanged":true}`, false, false},
	} {
		t.Run(test.granted, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := offering(t, modernName, `{"tools":{"listChanged":true},"prompts":{"listChanged":true}}`, nil)
				ended := false
				s.listen = func(ctx context.Context, _ int, req *Request, l Listener) error {
					l.Opened()
					tell(l, notificationAcknowledged, `{"_meta":{"`+metaSubscription+`":%d},"notifications":`+test.granted+`}`, req.ID)
					ended = ctx.Err() != nil
					<-ctx.Done()
					return context.Cause(ctx)
				}
				session, _ := listeningTo(t, s, &Options{OnPromptsChanged: func() {}})
				session.mu.Lock()
				hearing := session.fresh.hearing
				session.mu.Unlock()
				if ended == test.open || hearing != test.hearing || s.count("listen") != 1 {
					t.Errorf("ended %v, hearing %v, %d streams", ended, hearing, s.count("listen"))
				}
			})
		})
	}
}

// S2-17: a change of the prompts is told on whichever stream, and so is the time in
// which one could not be heard.
func TestS2_17_PromptsChange(t *testing.T) {
	for _, version := range []string{legacyName, modernName} {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				changes := 0
				s := offering(t, version, `{"tools":{"listChanged":true},"prompts":{"listChanged":true}}`, nil)
				answer := s.answer
				s.answer = func(ctx context.Context, req *Request, h Handler) (*Response, error) {
					if req.Method == methodCall {
						h.Notification(notificationPromptsChanged, nil)
						return result(hello)
					}
					return answer(ctx, req, h)
				}
				var trace []string
				note := func(what string) { trace = append(trace, fmt.Sprint(what, changes)) }
				s.listen = func(ctx context.Context, n int, req *Request, l Listener) error {
					l.Opened()
					meta := ""
					if req != nil {
						tell(l, notificationAcknowledged, `{"_meta":{"`+metaSubscription+`":%d},"notifications":{"toolsListChanged":true,"promptsListChanged":true}}`, req.ID)
						tell(l, notificationPromptsChanged, `{"_meta":{"`+metaSubscription+`":99999}}`) // of another subscription
						meta = fmt.Sprintf(`"_meta":{"`+metaSubscription+`":%d}`, req.ID)
					}
					note("opened ")
					tell(l, notificationPromptsChanged, "{%s}", meta)
					note("told ")
					if n == 1 {
						return nil
					}
					<-ctx.Done()
					return context.Cause(ctx)
				}
				session, _ := listeningTo(t, s, &Options{OnPromptsChanged: func() { changes++ }, OnNotification: func(method string, _ []byte) { t.Errorf("%s is passed on", method) }})
				time.Sleep(time.Hour)
				synctest.Wait()
				note("later ")
				if _, err := session.CallTool(t.Context(), "t", nil, nil); err != nil {
					t.Fatal(err)
				}
				note("call ")
				if got, want := strings.Join(trace, ", "), "opened 0, told 1, opened 2, told 3, later 3, call 4"; got != want {
					t.Errorf("%s, want %s", got, want)
				}
			})
		})
	}
}
