package pack

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fake is a pack that records what it is asked.
type fake struct {
	id     string
	config Raw
	calls  []Call
	close  func(ctx context.Context) error // nil: nothing to do
}

func (f *fake) Tools() []Tool { return []Tool{{Name: "echo", Kind: KindTool}} }

func (f *fake) Invoke(ctx context.Context, call *Call) (*Result, error) {
	f.calls = append(f.calls, *call)
	return &Result{Content: Raw(`"done"`)}, nil
}

func (f *fake) Close(ctx context.Context) error {
	if f.close == nil {
		return nil
	}
	return f.close(ctx)
}

// insert makes a pack of fakes available under name.
func insert(t *testing.T, r *Registry, name, id string, config Raw) {
	t.Helper()
	err := r.Insert(Info{Name: name, ID: id, New: func(id string, config Raw, host *Host) (Pack, error) {
		return &fake{id: id, config: config}, nil
	}}, config)
	if err != nil {
		t.Fatal(err)
	}
}

// construct is Construct for tests that expect it to work.
func construct(t *testing.T, r *Registry, name, id string, config Raw) (*Instance, *fake) {
	t.Helper()
	instance, err := r.Construct(name, id, config, &Host{})
	if err != nil {
		t.Fatal(err)
	}
	return instance, instance.Pack.(*fake)
}

// wantError checks the kind of an *Error and parts of its message.
func wantError(t *testing.T, err error, kind Kind, parts ...string) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got %v (%T), want an *Error", err, err)
	}
	if e.Kind != kind {
		t.Errorf("%q has the kind %s, want %s", e.Message, e.Kind, kind)
	}
	for _, part := range parts {
		if !strings.Contains(e.Message, part) {
			t.Errorf("%q does not say %q", e.Message, part)
		}
	}
}

func TestS1_01_SecondPackOfANameIsADuplicate(t *testing.T) {
	r := NewRegistry()
	insert(t, r, "a/one", "one", nil)
	insert(t, r, "a/two", "one", nil) // the id is only the default of construct
	err := r.Insert(Info{Name: "a/one", ID: "other"}, nil)
	if !errors.Is(err, ErrDuplicatePack) {
		t.Fatalf("got %v, want ErrDuplicatePack", err)
	}
	if !strings.Contains(err.Error(), "a/one") {
		t.Errorf("%q does not name the pack", err)
	}
	if _, f := construct(t, r, "a/one", "", nil); f.id != "one" {
		t.Errorf("the first pack is lost: id %q", f.id)
	}
}

func TestAvailableIsInNameOrder(t *testing.T) {
	r := NewRegistry()
	for _, name := range []string{"b/x", "a/y", "a/x"} {
		insert(t, r, name, "id", nil)
	}
	var names []string
	for _, info := range r.Available() {
		names = append(names, info.Name)
	}
	if got := strings.Join(names, " "); got != "a/x a/y b/x" {
		t.Errorf("got %s", got)
	}
}

func TestConstructConfig(t *testing.T) {
	for _, row := range []struct {
		name               string
		inserted, given    Raw
		wantConfig, wantID string
		id                 string
	}{
		{"neither gives one", nil, nil, "null", "one", ""},
		{"the insertion's", Raw(`{"a":1}`), nil, `{"a":1}`, "one", ""},
		{"the call's goes first", Raw(`{"a":1}`), Raw(`[]`), `[]`, "one", ""},
		{"null given is null", Raw(`{"a":1}`), Raw(`null`), `null`, "one", ""},
		{"an id of its own", nil, nil, "null", "mine", "mine"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := NewRegistry()
			insert(t, r, "a/one", "one", row.inserted)
			instance, f := construct(t, r, "a/one", row.id, row.given)
			if string(f.config) != row.wantConfig {
				t.Errorf("config %s, want %s", f.config, row.wantConfig)
			}
			if f.id != row.wantID || instance.ID != row.wantID {
				t.Errorf("id %q and %q, want %q", f.id, instance.ID, row.wantID)
			}
		})
	}
}

func TestConstructRefuses(t *testing.T) {
	r := NewRegistry()
	_, err := r.Construct("a/one", "", nil, &Host{})
	wantError(t, err, KindUnavailable, `"a/one"`, "none")

	insert(t, r, "a/one", "one", nil)
	insert(t, r, "a/two", "one", nil)
	_, err = r.Construct("a/three", "", nil, &Host{})
	wantError(t, err, KindUnavailable, `"a/three"`, `"a/one", "a/two"`)

	construct(t, r, "a/one", "", nil)
	_, err = r.Construct("a/two", "", nil, &Host{})
	wantError(t, err, KindUnavailable, `"one"`, "taken")
	construct(t, r, "a/two", "two", nil)
}

func TestConstructWrapsWhatThePackSays(t *testing.T) {
	for _, row := range []struct {
		name string
		err  error
		want string
	}{
		{"an error of the contract keeps its words", Errorf(KindMessage, "the config must be an object"), "the config must be an object"},
		{"any other shows nothing", errors.New("secret"), "internal error"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := NewRegistry()
			broken := true
			r.Insert(Info{Name: "a/one", ID: "one", New: func(string, Raw, *Host) (Pack, error) {
				if broken {
					return nil, row.err
				}
				return &fake{}, nil
			}}, nil)
			_, err := r.Construct("a/one", "", nil, &Host{})
			wantError(t, err, KindUnavailable, row.want)
			if err.Error() != row.want {
				t.Errorf("got %q, want %q", err, row.want)
			}
			broken = false
			construct(t, r, "a/one", "", nil) // the id was not kept
		})
	}
}

func TestGet(t *testing.T) {
	r := NewRegistry()
	insert(t, r, "a/one", "one", nil)
	_, err := r.Get("one")
	wantError(t, err, KindUnavailable, `"one"`, "send construct first")
	instance, _ := construct(t, r, "a/one", "", nil)
	if got, err := r.Get("one"); err != nil || got != instance {
		t.Errorf("got %v, %v", got, err)
	}
	_, err = r.Get("One")
	wantError(t, err, KindUnavailable, `"One"`, `constructed: "one"`)
}

func TestInvokeSplitsAtTheFirstSlash(t *testing.T) {
	r := NewRegistry()
	insert(t, r, "a/one", "one", nil)
	_, f := construct(t, r, "a/one", "", nil)
	for _, row := range []struct{ tool, want string }{
		{"one/echo", "echo"},
		{"one/command/mcp", "command/mcp"},
		{"one/", ""},
		{"one//x", "/x"},
	} {
		f.calls = nil
		result, err := r.Invoke(t.Context(), row.tool, &Call{Arguments: Raw(`{}`)})
		if err != nil || string(result.Content) != `"done"` {
			t.Fatalf("%s: %v, %v", row.tool, result, err)
		}
		if len(f.calls) != 1 || f.calls[0].Tool != row.want || string(f.calls[0].Arguments) != `{}` {
			t.Errorf("%s reached the pack as %+v", row.tool, f.calls)
		}
	}
	f.calls = nil
	_, err := r.Invoke(t.Context(), "echo", &Call{})
	wantError(t, err, KindMessage, `"echo"`, "<id>/<tool>")
	_, err = r.Invoke(t.Context(), "two/echo", &Call{})
	wantError(t, err, KindUnavailable, `"two"`)
	if len(f.calls) != 0 {
		t.Errorf("the pack was called: %+v", f.calls)
	}
}

func TestCloseFreesTheID(t *testing.T) {
	failure := errors.New("the server did not answer")
	for _, row := range []struct {
		name string
		err  error
	}{{"closed", nil}, {"closed with an error", failure}} {
		t.Run(row.name, func(t *testing.T) {
			r := NewRegistry()
			insert(t, r, "a/one", "one", nil)
			_, f := construct(t, r, "a/one", "", nil)
			f.close = func(context.Context) error {
				if _, err := r.Construct("a/one", "", nil, &Host{}); err == nil {
					t.Error("the id is free while its pack still closes")
				}
				return row.err
			}
			if err := r.Close(t.Context(), "one"); !errors.Is(err, row.err) {
				t.Errorf("got %v, want %v", err, row.err)
			}
			wantError(t, r.Close(t.Context(), "one"), KindUnavailable, `"one"`)
			construct(t, r, "a/one", "", nil)
		})
	}
}

func TestCloseIsDoneOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry()
		insert(t, r, "a/one", "one", nil)
		_, f := construct(t, r, "a/one", "", nil)
		failure := errors.New("the server did not answer")
		times := 0
		f.close = func(context.Context) error {
			times++
			time.Sleep(time.Second)
			return failure
		}
		first := make(chan error)
		go func() { first <- r.Close(t.Context(), "one") }()
		synctest.Wait()

		_, err := r.Get("one")
		wantError(t, err, KindUnavailable, `"one"`, "being closed")
		_, err = r.Invoke(t.Context(), "one/echo", &Call{})
		wantError(t, err, KindUnavailable, "being closed")
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := r.Close(impatient, "one"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the second close, cut short: %v", err)
		}
		if err := r.CloseAll(t.Context()); !errors.Is(err, failure) {
			t.Errorf("closing all did not wait for the close under way: %v", err)
		}
		if err := <-first; err != failure || times != 1 {
			t.Errorf("the pack was closed %d times; the first said %v", times, err)
		}
		construct(t, r, "a/one", "", nil)
	})
}

func TestCloseAllIsSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry()
		insert(t, r, "a/one", "one", nil)
		failure := errors.New("slow")
		var mu sync.Mutex
		closed := 0
		for _, id := range []string{"a", "b", "c"} {
			_, f := construct(t, r, "a/one", id, nil)
			f.close = func(ctx context.Context) error {
				time.Sleep(time.Second)
				mu.Lock()
				defer mu.Unlock()
				closed++
				if id == "b" {
					return failure
				}
				return nil
			}
		}
		start := time.Now()
		if err := r.CloseAll(t.Context()); !errors.Is(err, failure) {
			t.Errorf("got %v, want the error of the one that failed", err)
		}
		if took := time.Since(start); took != time.Second || closed != 3 {
			t.Errorf("%d packs closed in %v, want 3 in 1s", closed, took)
		}
		if err := r.CloseAll(t.Context()); err != nil {
			t.Errorf("closing nothing: %v", err)
		}
	})
}

func TestCloseAllEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry()
		insert(t, r, "a/one", "one", nil)
		_, f := construct(t, r, "a/one", "", nil)
		stuck := make(chan struct{})
		defer close(stuck)
		f.close = func(context.Context) error { <-stuck; return nil }
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		if err := r.CloseAll(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
