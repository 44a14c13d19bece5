package httpmcp

import (
	"maps"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// TestAUD_02_Challenges: the Bearer challenge is found among whatever stands around it.
func TestAUD_02_Challenges(t *testing.T) {
	for _, row := range []struct {
		name    string
		headers []string
		want    map[string]string // of Bearer; nil for none
	}{
		{"none", nil, nil},
		{"bare", []string{`Bearer`}, nil},
		{"one", []string{`Bearer realm="x", scope="a b"`}, map[string]string{"realm": "x", "scope": "a b"}},
		{"in another case", []string{`bEARER Scope=a`}, map[string]string{"scope": "a"}},
		{"with space", []string{" \t, ,Bearer \t scope = \"a\" ,\t, error\t=\tb ,"}, map[string]string{"scope": "a", "error": "b"}},
		{"a quoted comma and an equals sign", []string{`Bearer a="x, Basic b=c", d="\"\\"`}, map[string]string{"a": "x, Basic b=c", "d": `"\`}},
		{"behind others", []string{`Negotiate, Basic realm="a, Bearer x=y", Bearer scope=z`}, map[string]string{"scope": "z"}},
		{"behind a token68", []string{`Negotiate YII+/a==, Bearer scope=z`}, map[string]string{"scope": "z"}},
		{"before others", []string{`Bearer scope=z, error="e", DPoP algs="ES256", error=f`}, map[string]string{"scope": "z", "error": "e"}},
		{"in the second header", []string{`Basic realm=a`, `Bearer scope=z`}, map[string]string{"scope": "z"}},
		{"behind a broken header", []string{`"`, `Basic realm="a`, `Bearer scope=z`}, map[string]string{"scope": "z"}},
		{"the first of two", []string{`Bearer scope=a, Bearer scope=b`}, map[string]string{"scope": "a"}},
		{"a parameter twice", []string{`Bearer scope=a, scope=b`}, map[string]string{"scope": "a"}},
		{"a string without end", []string{`Bearer error=x, scope="a`}, map[string]string{"error": "x"}},
		{"a string that ends with a backslash", []string{`Bearer error=x, scope="a\`}, map[string]string{"error": "x"}},
		{"a value that is none", []string{`Bearer error=x, scope=`}, map[string]string{"error": "x"}},
		{"another scheme that begins so", []string{`BearerX scope=a`}, nil},
		{"a scheme that is none", []string{`=, Bearer scope=a`}, nil},
		{"more than is read", []string{`Basic realm="` + strings.Repeat("x", maxChallengeText) + `"`, `Bearer scope=a`}, nil},
		{"too many before it", []string{strings.Repeat("A, ", maxChallenges) + `Bearer scope=a`}, nil},
	} {
		if got := bearerChallenge(http.Header{"Www-Authenticate": row.headers}); !maps.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

// FuzzChallenges (F5): what is read is within bounds, and says the same when it is
// written again in the plainest form.
func FuzzChallenges(f *testing.F) {
	for _, seed := range []string{
		`Bearer realm="x", scope="a b"`, `Negotiate YII=, Basic realm="a,b"`, `Bearer a="\"", b=c,,d = e`, `a b=c, d e="f\`, "Bearer\ta==",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list := challenges([]string{text})
		if len(list) > maxChallenges {
			t.Fatalf("%d challenges", len(list))
		}
		var again strings.Builder
		for _, c := range list {
			if c.scheme == "" || c.scheme != strings.ToLower(c.scheme) || len(c.params) > maxParams {
				t.Fatalf("read %+v", c)
			}
			again.WriteString(", " + c.scheme)
			sep := " "
			for name, value := range c.params {
				again.WriteString(sep + name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`)
				sep = ", "
			}
		}
		if again.Len() > maxChallengeText {
			return
		}
		if second := challenges([]string{again.String()}); !reflect.DeepEqual(second, list) && len(list) > 0 {
			t.Errorf("%q was read as %+v, and that, written again as %q, as %+v", text, list, again.String(), second)
		}
	})
}
