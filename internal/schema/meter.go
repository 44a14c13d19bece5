package schema

import (
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A step is about what it takes to look at one small value. The clock is looked at
// once in so many, a fraction of a millisecond.
const stepsPerLook = 4096

// A meter ends a check when its time is over. The library has no way to be stopped,
// but calls what extends it, at each schema that it applies and at each pattern:
// there the meter panics, and run recovers. Nothing of the library outlives that.
type meter struct {
	deadline time.Time
	steps    int
}

// halt is what a meter panics with.
type halt struct{}

func (m *meter) begin(deadline time.Time) { m.deadline, m.steps = deadline, 0 }

// run calls check and reports whether it came to its end. A panic of the library,
// which untrusted schemas and values may find a way to, is such an end too.
func (m *meter) run(check func() error) (err error, done bool) {
	defer func() {
		if recover() != nil {
			done = false
		}
	}()
	return check(), true
}

// step charges n steps, in advance where they cannot be interrupted.
func (m *meter) step(n int) {
	if m.steps += n; m.steps < stepsPerLook {
		return
	}
	m.steps = 0
	if !m.deadline.IsZero() && !time.Now().Before(m.deadline) {
		panic(halt{})
	}
}

// vocabulary is an extension of every schema that only counts.
func (m *meter) vocabulary() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL: "schema://meter/",
		Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) {
			return m, nil
		},
	}
}

// Validate implements jsonschema.SchemaExt.
func (m *meter) Validate(*jsonschema.ValidatorContext, any) { m.step(1) }
