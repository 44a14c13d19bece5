package limit

import (
	"strings"
	"testing"
	"time"
)

func TestRowsAreIndexedByName(t *testing.T) {
	seen := map[string]bool{}
	for i, row := range Rows() {
		if int(row.Name) != i {
			t.Errorf("row %d (%s) has name %d", i, row.Text, row.Name)
		}
		if row.Text == "" || row.Effect == "" || !strings.HasPrefix(row.ID, "L") || seen[row.Text] {
			t.Errorf("row %d is incomplete or doubled: %+v", i, row)
		}
		if row.Default < row.Min || row.Default > row.Max {
			t.Errorf("%s: default %d is outside %d to %d", row.Text, row.Default, row.Min, row.Max)
		}
		seen[row.Text] = true
	}
}

func TestWith(t *testing.T) {
	for _, test := range []struct{ setting, want, err string }{
		{"host_line=64KiB", "64KiB", ""},
		{"host_line=70000", "70000", ""},
		{"call_time=90s", "1m30s", ""},
		{"gzip=1", "1", ""},
		{"progress_rate=5", "5", ""},
		{"host_line", "", "want NAME=VALUE"},
		{"host_line=many", "", "write 65536, 64KiB or 16MiB"},
		{"call_time=90", "", "write 500ms, 30s or 2m"},
		{"host_line=1KiB", "", "outside 64KiB to 256MiB"},
		{"host_line=9223372036854775807MiB", "", "is no size"},
		{"drain=1", "", "outside 64KiB to 64KiB"},
		{"redirects=1", "", "unknown; known: host_line"},
	} {
		table, err := Table{}.With(test.setting)
		name, _, _ := strings.Cut(test.setting, "=")
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: error %v, want %q", test.setting, err, test.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.setting, err)
			continue
		}
		for _, row := range Rows() {
			if row.Text == name && table.Format(row.Name) != test.want {
				t.Errorf("%s: got %s, want %s", test.setting, table.Format(row.Name), test.want)
			}
		}
	}
}

func TestTableIsAValue(t *testing.T) {
	a, err := Table{}.With("call_time=10s")
	if err != nil {
		t.Fatal(err)
	}
	b, err := a.With("start_time=20s")
	if err != nil {
		t.Fatal(err)
	}
	if got := (Table{}).Time(CallTime); got != 5*time.Minute {
		t.Errorf("the defaults changed: %v", got)
	}
	if a.Time(StartTime) != 2*time.Minute || b.Time(CallTime) != 10*time.Second || b.Time(StartTime) != 20*time.Second {
		t.Errorf("overrides leak between tables: %v %v", a, b)
	}
}

func TestErrorNamesTheLimit(t *testing.T) {
	err := Table{}.Exceeded(ServerMessage, "the answer")
	if got, want := err.Error(), "the answer exceeds the limit server_message (16MiB)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
