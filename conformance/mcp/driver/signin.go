package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// refusals are the scenarios in which the sign-in must come to nothing, each with what
// the reason names and how often the user's browser is sent away.
var refusals = map[string]struct {
	reason string
	visits int
}{
	"auth/resource-mismatch":        {"resource", 0},
	"auth/metadata-issuer-mismatch": {"issuer", 0},
	"auth/iss-supported-missing":    {"issuer", 1},
	"auth/iss-wrong-issuer":         {"issuer", 1},
	"auth/iss-unexpected":           {"issuer", 1},
	"auth/iss-normalized":           {"issuer", 1},
	"auth/scope-retry-limit":        {"scope", 1},
}

// visits is how often the user's browser is sent away in the other scenarios, where it
// is not once.
var visits = map[string]int{
	"auth/scope-step-up":                  2,
	"auth/authorization-server-migration": 2,
}

// mostSignIns is how often the user signs in when asked to.
const mostSignIns = 3

// documentURL is where the suite says that a client's metadata document is.
const documentURL = "https://conformance-test.local/client-metadata.json"

// A signInConfig is the oauth of an entry.
type signInConfig struct {
	ClientID     string `json:"clientId,omitempty"`
	ClientSecret string `json:"clientSecret,omitempty"`
	Issuer       string `json:"issuer,omitempty"`
	DocumentURL  string `json:"clientMetadataUrl,omitempty"`
}

// secretVariable holds a secret of the scenario in the host's environment, so that the
// configuration does not.
const secretVariable = "CONF_CLIENT_SECRET"

// signInConfig returns what the suite's inputs say about signing in.
func (t *task) signIn() *signInConfig {
	config := &signInConfig{ClientID: t.client.ID, Issuer: t.client.Issuer}
	if t.client.Secret != "" {
		config.ClientSecret = "${env:" + secretVariable + "}"
	}
	if t.scenario == "auth/basic-cimd" {
		config.DocumentURL = documentURL
	}
	return config
}

// playSignIn signs in to the server when it asks for that and calls its tools, or sees
// that the host refuses to.
func playSignIn(ctx context.Context, h *host, url, version string, t *task) error {
	if err := h.constructAsking(ctx, entry{url, version, t.signIn()}); err != nil {
		return err
	}
	s, err := h.ready(ctx)
	if err != nil {
		return err
	}
	if s.Status != "failed" || !s.NeedsSignIn {
		return fmt.Errorf("the server does not wait for its user: %+v", s.serverStatus)
	}
	if refusal, ok := refusals[t.scenario]; ok {
		err = h.mustRefuse(ctx, refusal.reason)
		return errors.Join(err, h.visited(refusal.visits))
	}
	wanted, ok := visits[t.scenario]
	if !ok {
		wanted = 1
	}
	for signIns := 0; ; {
		err := h.useAll(ctx)
		if err == nil {
			return h.visited(wanted)
		}
		s, failure := h.ready(ctx)
		if failure != nil || !s.NeedsSignIn || signIns == mostSignIns {
			_, lost := h.browser.state()
			return errors.Join(err, failure, lost)
		}
		signIns++
		if err := h.connect(ctx); err != nil {
			if s, failure := h.ready(ctx); failure != nil || !s.NeedsSignIn {
				return errors.Join(err, failure)
			}
		}
	}
}

// mustRefuse signs in, which must fail, for a reason that names that.
func (h *host) mustRefuse(ctx context.Context, reason string) error {
	if err := h.connect(ctx); err == nil {
		return errors.New("the sign-in was not refused")
	}
	s, err := h.ready(ctx)
	switch {
	case err != nil:
		return err
	case s.Status != "failed" || !s.NeedsSignIn || len(s.tools) > 0:
		return fmt.Errorf("the server is not left to its user: %+v", s.serverStatus)
	case !strings.Contains(s.Error, reason):
		return fmt.Errorf("the reason does not name the %s: %s", reason, s.Error)
	}
	return nil
}

// visited compares how often the browser was sent away.
func (h *host) visited(wanted int) error {
	n, err := h.browser.state()
	if n != wanted {
		err = errors.Join(err, fmt.Errorf("the browser was sent to sign in %d times, want %d", n, wanted))
	}
	return err
}

// useAll calls every tool of a server that is connected.
func (h *host) useAll(ctx context.Context) error {
	s, err := h.ready(ctx)
	if err != nil {
		return err
	}
	if s.Status != "connected" || len(s.tools) == 0 {
		return fmt.Errorf("the server cannot be used: %+v", s.serverStatus)
	}
	for _, name := range s.tools {
		if err := h.callDirect(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// connect is the user's command.
func (h *host) connect(ctx context.Context) error {
	_, err := h.invoke(ctx, "command/connect", map[string]string{"name": server})
	return err
}

// A serverStatus is the state of the server, as the host gives it.
type serverStatus struct {
	Status, Error string
	NeedsSignIn   bool
}

// A standing is the state of the server with its tools.
type standing struct {
	serverStatus
	tools []string
}

func (h *host) ready(ctx context.Context) (*standing, error) {
	var ready struct {
		Tools   []struct{ Kind, ServerTool string }
		Servers []serverStatus
	}
	if err := h.ask(ctx, "ready", map[string]string{"id": pack}, &ready); err != nil {
		return nil, err
	}
	if len(ready.Servers) != 1 {
		return nil, fmt.Errorf("%d servers", len(ready.Servers))
	}
	s := &standing{serverStatus: ready.Servers[0]}
	for _, t := range ready.Tools {
		if t.Kind == "tool" {
			s.tools = append(s.tools, t.ServerTool)
		}
	}
	return s, nil
}

// constructAsking makes the pack for a host whose user opens pages and approves calls.
func (h *host) constructAsking(ctx context.Context, e entry) error {
	return h.ask(ctx, "construct", map[string]any{
		"pack": "tanstack/mcp", "id": pack, "protocol": "1",
		"config": map[string]any{"servers": map[string]any{server: e}},
		"host":   map[string]any{"name": "driver", "capabilities": map[string]bool{"approve": true, "open": true, "status": true}},
	}, nil)
}

// open answers the question to open a page: the user goes there.
func (h *host) open(params json.RawMessage) string {
	var page struct{ URL string }
	if err := json.Unmarshal(params, &page); err != nil || !h.browser.visit(context.Background(), page.URL) {
		return `{"opened":false}`
	}
	return `{"opened":true}`
}
