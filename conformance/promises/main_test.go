package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestIDsOf(t *testing.T) {
	for _, test := range []struct {
		name string
		want []string
	}{
		{"TestS1_04_Listing", []string{"S1-04"}},
		{"TestListing/S1-04_one_tool", []string{"S1-04"}},
		{"TestS1_04_05_Both", []string{"S1-04", "S1-05"}},
		{"TestS1_10_Refused/S1-12_reserved", []string{"S1-10", "S1-12"}},
		{"TestS1_27", []string{"S1-27"}},
		{"TestS2_07_S2_08_Statuses", []string{"S2-07", "S2-08"}},
		{"TestS2_11_T70_Waits", []string{"S2-11"}},
		{"TestS3_01", nil},
		{"TestS1_2", nil},
		{"TestS1_123_Long", nil},
		{"TestOther", nil},
	} {
		if got := idsOf(test.name); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// events returns the events of a run in which every promise has a test that
// passed, changed by edit.
func events(edit func(test, action string) string) string {
	var b strings.Builder
	for _, p := range promises {
		test := "Test" + strings.ReplaceAll(p.id, "-", "_") + "_It"
		if action := edit(p.id, "pass"); action != "" {
			fmt.Fprintf(&b, `{"Action":"output","Package":"p","Test":%q,"Output":"why\n"}`+"\n", test)
			fmt.Fprintf(&b, `{"Action":%q,"Package":"p","Test":%q}`+"\n", action, test)
		}
	}
	b.WriteString(`{"Action":"pass","Package":"p"}` + "\n")
	return b.String()
}

func TestReport(t *testing.T) {
	only := func(id, instead string) func(string, string) string {
		return func(test, action string) string {
			if test == id {
				return instead
			}
			return action
		}
	}
	for _, test := range []struct {
		situation string
		edit      func(test, action string) string
		extra     string
		ok        bool
		want      string
	}{
		{"all pass", only("", ""), "", true, fmt.Sprintf("%d of %d promises kept", len(promises), len(promises))},
		{"one has no test", only("S1-13", ""), "", false, "S1-13 MISSING"},
		{"one is skipped", only("S1-14", "skip"), "", false, "S1-14 BROKEN"},
		{"one fails", only("S1-15", "fail"), "", false, "why"},
		{"another test fails", only("", ""), `{"Action":"fail","Package":"p","Test":"TestOther"}`, false, "p TestOther failed"},
		{"an id that is none", only("", ""), `{"Action":"pass","Package":"p","Test":"TestS1_99_It"}`, false, "S1-99 STRANGE"},
	} {
		results, err := collect(strings.NewReader(events(test.edit) + test.extra))
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if ok := report(&out, results); ok != test.ok || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: %v\n%s", test.situation, ok, out.String())
		}
	}
}
