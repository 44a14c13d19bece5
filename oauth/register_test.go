package oauth

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/redact"
)

// TestAUR_01_Order: registered in advance, then by a document, then dynamically.
func TestAUR_01_Order(t *testing.T) {
	const document = "https://app.test/client.json"
	for _, row := range []struct {
		name      string
		config    Config
		documents bool
		client    string
		registers bool
	}{
		{"all three", Config{ClientID: "mine", MetadataURL: document}, true, "mine", false},
		{"a document that is taken", Config{MetadataURL: document}, true, document, false},
		{"a document that is not taken", Config{MetadataURL: document}, false, "client-1", true},
		{"nothing", Config{}, true, "client-1", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			w.server(map[string]any{"client_id_metadata_document_supported": row.documents})
			w.signIn(w.client(row.config))
			if got := w.visits[0].Get("client_id"); got != row.client {
				t.Errorf("client_id is %q, want %q", got, row.client)
			}
			if got := slices.Contains(w.made(), register); got != row.registers {
				t.Errorf("registered: %v", got)
			}
		})
	}
	w := newWorld(t)
	w.server(map[string]any{"registration_endpoint": nil})
	w.refused(w.client(Config{}), "registers no clients by itself", "clientId")
}

// TestAUR_06_WhatWeSayOfUs: what is registered.
func TestAUR_06_WhatWeSayOfUs(t *testing.T) {
	w := newWorld(t)
	var said map[string]any
	w.pages[register] = func(rw http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(text, &said); err != nil {
			t.Error(err)
		}
		answering(201, `{"client_id":"client-1"}`)(rw, r)
	}
	w.signIn(w.client(Config{ClientName: "my host"}))
	for name, want := range map[string]string{
		"client_name": `"my host"`, "application_type": `"native"`, "grant_types": `["authorization_code","refresh_token"]`,
		"response_types": `["code"]`, "token_endpoint_auth_method": `"none"`,
		"redirect_uris": `["` + w.visits[0].Get("redirect_uri") + `"]`,
	} {
		if got, _ := json.Marshal(said[name]); string(got) != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// TestAUR_07_Refusals: the reason is shown, once, and nothing more is tried.
func TestAUR_07_Refusals(t *testing.T) {
	for answer, say := range map[string]string{
		`{"error":"invalid_redirect_uri","error_description":"no loopback"}`: "invalid_redirect_uri: no loopback",
		`{"error":"made_up"}`: "an error without a registered code",
		`oops`:                "status 400",
	} {
		w := newWorld(t)
		w.pages[register] = answering(400, answer)
		w.refused(w.client(Config{}), "the registration endpoint of as.test", say)
		w.wantMade(resourceDoc, serverDoc, register)
	}
	for answer, say := range map[string]string{
		`{}`: "no client_id",
		`[]`: "no JSON object",
		`{"client_id":"c","token_endpoint_auth_method":"private_key_jwt"}`:     "not supported",
		`{"client_id":"c","token_endpoint_auth_method":"client_secret_basic"}`: "no client_secret",
	} {
		w := newWorld(t)
		w.pages[register] = answering(201, answer)
		w.refused(w.client(Config{}), say)
		w.wantMade(resourceDoc, serverDoc, register)
	}
}

// TestAUF_21_ClientAuthentication: the way follows from what was registered, and from
// what the authorization server lists.
func TestAUF_21_ClientAuthentication(t *testing.T) {
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("id%3A%25+1:secret%3A%26"))
	known := Config{ClientID: "id:% 1", ClientSecret: redact.NewSecret("secret:&")}
	for _, row := range []struct {
		name     string
		methods  any
		config   Config
		answer   string // to the registration
		header   string
		id, post string // in the form
	}{
		{"in advance, basic", []string{"client_secret_post", "client_secret_basic"}, known, "", basic, "", ""},
		{"in advance, nothing listed", nil, known, "", basic, "", ""},
		{"in advance, post", []string{"client_secret_post"}, known, "", "", "id:% 1", "secret:&"},
		{"in advance, without a secret", []string{"client_secret_basic"}, Config{ClientID: "id"}, "", "", "id", ""},
		{"registered, none", []string{"none", "client_secret_basic"}, Config{}, `{"client_id":"id"}`, "", "id", ""},
		{"registered, none, with a secret all the same", []string{"none"}, Config{}, `{"client_id":"id","client_secret":"secret"}`, "", "id", ""},
		{"registered, as the answer says", []string{"none"}, Config{}, `{"client_id":"id","client_secret":"secret","token_endpoint_auth_method":"client_secret_post"}`, "", "id", "secret"},
		{"registered, nothing listed and no secret", nil, Config{}, `{"client_id":"id"}`, "", "id", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			w.server(map[string]any{"token_endpoint_auth_methods_supported": row.methods})
			w.pages[register] = answering(201, row.answer)
			w.signIn(w.client(row.config))
			form := w.forms[0]
			if got := form.Get("Authorization"); got != row.header {
				t.Errorf("Authorization is %q, want %q", got, row.header)
			}
			if form.Get("client_id") != row.id || form.Get("client_secret") != row.post {
				t.Errorf("the form holds %q and %q", form.Get("client_id"), form.Get("client_secret"))
			}
		})
	}
	w := newWorld(t)
	w.server(map[string]any{"token_endpoint_auth_methods_supported": []string{"private_key_jwt"}})
	w.refused(w.client(known), "no way of client authentication")
}

// TestAUR_09_AnotherServer: what one authorization server has issued is not shown to
// another (T55).
func TestAUR_09_AnotherServer(t *testing.T) {
	w := newWorld(t)
	c := w.client(Config{})
	w.signIn(c)
	const second = "https://second.test"
	w.resource(map[string]any{"resource": serverURL, "authorization_servers": []string{second}})
	var seen strings.Builder
	note := func(page http.HandlerFunc) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			seen.Write(text)
			page(rw, r)
		}
	}
	text, _ := json.Marshal(map[string]any{
		"issuer": second, "authorization_endpoint": second + "/authorize", "token_endpoint": second + "/token",
		"registration_endpoint": second + "/register", "code_challenge_methods_supported": []string{"S256"},
	})
	w.pages["GET "+second+"/.well-known/oauth-authorization-server"] = answering(200, string(text))
	w.pages["POST "+second+"/register"] = note(answering(201, `{"client_id":"client-2"}`))
	w.pages["POST "+second+"/token"] = note(answering(200, `{"access_token":"access-token-2","token_type":"bearer"}`))
	w.pages[tokens] = answering(400, `{"error":"invalid_grant"}`)
	w.made()

	if err := c.Refused(t.Context(), redact.NewSecret("access-token-1"), Challenge{}); err == nil {
		t.Fatal("the request is sent again without a token")
	}
	w.wantMade(tokens) // the renewal, where the token came from
	w.leave = leaveWith(second)
	w.signIn(c)
	if got := w.visits[1].Get("client_id"); got != "client-2" {
		t.Errorf("the second server was shown the client %q", got)
	}
	for _, secret := range []string{"client-1", "refresh-token-1", "access-token-1"} {
		if strings.Contains(seen.String(), secret) {
			t.Errorf("the second server was shown %s", secret)
		}
	}
	if got := w.token(c); got != "access-token-2" {
		t.Errorf("the token is %q", got)
	}
	record, err := w.store.Load(t.Context(), Key{Server: serverURL})
	if err != nil {
		t.Fatal(err)
	}
	if got := record.Grant.Issuer; got != second || len(record.Registrations) != 2 {
		t.Errorf("kept: a grant of %s, registrations %v", got, record.Registrations)
	}
}
