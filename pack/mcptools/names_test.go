package mcptools

import (
	"strings"
	"testing"
)

func TestS2_06_ModelNames(t *testing.T) {
	for _, row := range []struct{ full, want string }{
		{"git_log", "git_log"},
		{"_x-1", "_x-1"},
		{strings.Repeat("a", 64), strings.Repeat("a", 64)},
		{strings.Repeat("a", 65), strings.Repeat("a", 55) + "_635361c4"},
		{"docs_a.b", "docs_a_b_2cd378ed"},
		{"docs_a b", "docs_a_b_813b0bb3"},
		{"1password_get", "_1password_get_bf0a6d62"},
		{"-x", "_-x_a4209624"},
		{"docs_höhe", "docs_h_he_13dcd2f9"},
		{"", "__e3b0c442"},
	} {
		got := modelName(row.full)
		if got != row.want {
			t.Errorf("%q becomes %q, want %q", row.full, got, row.want)
		}
		if !plain(got) {
			t.Errorf("%q is no name that every model takes", got)
		}
	}
}

// FuzzS2_06_ModelNames: whatever servers call their tools, each gets a name that
// models take, and the same one every time; what is taken as it is stays so.
func FuzzS2_06_ModelNames(f *testing.F) {
	f.Add("git", "log")
	f.Add("a.b", "c d")
	f.Add("", "\x00\xff")
	f.Fuzz(func(t *testing.T, server, tool string) {
		name := defaultTemplate.name(server, tool)
		if !plain(name) || name != defaultTemplate.name(server, tool) {
			t.Errorf("%q and %q become %q", server, tool, name)
		}
		if full := server + "_" + tool; plain(full) && name != full {
			t.Errorf("%q was changed to %q", full, name)
		}
	})
}

func TestS2_06_Templates(t *testing.T) {
	for _, row := range []struct{ template, want, wrong string }{
		{"{server}_{tool}", "git_log", ""},
		{"{tool}", "log", ""},
		{"mcp__{server}__{tool}", "mcp__git__log", ""},
		{"{tool}_{tool}", "log_log", ""},
		{"{server}", "", "must hold {tool}"},
		{"x", "", "must hold {tool}"},
		{"{tool}{name}", "", "placeholder that is unknown"},
		{"{tool", "", "placeholder that is unknown"},
	} {
		template := nameTemplate(row.template)
		if wrong := template.wrong(); row.wrong == "" && wrong != "" || !strings.Contains(wrong, row.wrong) {
			t.Errorf("%s: %q, want %q", template, wrong, row.wrong)
		} else if wrong == "" && template.name("git", "log") != row.want {
			t.Errorf("%s gives %q, want %q", template, template.name("git", "log"), row.want)
		}
	}
	if got := nameTemplate("{server}.{tool}").name("{tool}", "x"); !strings.HasPrefix(got, "_tool__x_") {
		t.Errorf("what a name brings in was expanded again: %q", got)
	}
}
