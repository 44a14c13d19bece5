package oauth

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestT57_Answers: what is taken for a token.
func TestT57_Answers(t *testing.T) {
	for answer, say := range map[string]string{
		`{"access_token":"t","token_type":"Bearer"}`:                                   "",
		`{"access_token":"t","token_type":"bearer","expires_in":"60"}`:                 "",
		`{"access_token":"t"}`:                                                         "",
		`{"access_token":"12|tok_en-.~+/=","token_type":"BEARER","scope":"a b"}`:       "",
		`{"access_token":"` + strings.Repeat("x", maxToken) + `"}`:                     "",
		`{"access_token":"` + strings.Repeat("x", maxToken+1) + `"}`:                   "access_token",
		`{"access_token":"","token_type":"Bearer"}`:                                    "access_token",
		`{"access_token":5,"token_type":"Bearer"}`:                                     "access_token",
		`{"token_type":"Bearer"}`:                                                      "access_token",
		`{"access_token":"a b"}`:                                                       "access_token",
		`{"access_token":"a\r\nX: y"}`:                                                 "access_token",
		`{"access_token":"größe"}`:                                                     "access_token",
		`{"access_token":"t","token_type":"DPoP"}`:                                     "Bearer",
		`{"access_token":"t","token_type":"mac"}`:                                      "Bearer",
		`{"access_token":"t","token_type":5}`:                                          "Bearer",
		`{"access_token":"t","refresh_token":"a b"}`:                                   "refresh_token",
		`{"access_token":"t","access_token":"u","token_type":"Bearer"}`:                "stands twice",
		`{"access_token":"t","error":"invalid_request","error_description":"\u001b["}`: `invalid_request: \u{1b}[`,
		`access_token=t&token_type=bearer`:                                             "no JSON object",
		``:                                                                             "no JSON object",
	} {
		w := newWorld(t)
		w.pages[tokens] = answering(200, answer)
		c := w.client(Config{})
		err := c.SignIn(t.Context())
		if (err == nil) != (say == "") || err != nil && !strings.Contains(err.Error(), say) {
			t.Errorf("%.80s: %v, want %q", answer, err, say)
		}
		if got := w.token(c); err != nil && got != "" {
			t.Errorf("%.80s: the token %.20q is used", answer, got)
		}
	}
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for value, want := range map[string]time.Duration{
			`3600`: 3600*time.Second - early, `"3600"`: 3600*time.Second - early, `60`: 45 * time.Second, `1`: 750 * time.Millisecond,
			`1e300`: maxLife - early, `99999999999999`: maxLife - early, `1.5`: 1125 * time.Millisecond,
			`0`: 0, `-5`: 0, `"soon"`: 0, `null`: 0, `{}`: 0, ``: 0, `"NaN"`: 0,
		} {
			got := expiry([]byte(value))
			if want == 0 && !got.IsZero() || want != 0 && !got.Equal(time.Now().Add(want)) {
				t.Errorf("%s: %v, want in %v", value, got, want)
			}
		}
	})
}
