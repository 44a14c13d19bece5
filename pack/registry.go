package pack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// ErrDuplicatePack is returned by Insert for a name that is taken.
var ErrDuplicatePack = errors.New("duplicate pack")

// A Registry holds the packs that can be constructed, by name, and those that
// are, by id. All methods may be called from any goroutine.
type Registry struct {
	mu        sync.Mutex
	available map[string]available // by name; guarded by mu
	live      map[string]*Instance // by id; guarded by mu
}

type available struct {
	info   Info
	config Raw
}

// NewRegistry returns an empty Registry.
func NewRegistry() *Registry {
	return &Registry{available: map[string]available{}, live: map[string]*Instance{}}
}

// Insert makes the pack available with the configuration that Construct uses
// when its caller gives none. A nil config is null. A second pack of that name
// is refused with ErrDuplicatePack.
func (r *Registry) Insert(info Info, config Raw) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.available[info.Name]; ok {
		return fmt.Errorf("%w: %s", ErrDuplicatePack, info.Name)
	}
	if config == nil {
		config = Raw("null")
	}
	r.available[info.Name] = available{info, config}
	return nil
}

// Available returns the packs that can be constructed, in name order.
func (r *Registry) Available() []Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	infos := make([]Info, 0, len(r.available))
	for _, name := range slices.Sorted(maps.Keys(r.available)) {
		infos = append(infos, r.available[name].info)
	}
	return infos
}

// An Instance is a constructed pack with the id it lives under.
type Instance struct {
	ID   string
	Info Info
	Pack

	// closing is nil until someone closes the pack; guarded by Registry.mu. It
	// is closed when the pack has closed, and err is then what it said.
	closing chan struct{}
	err     error
}

// Construct builds the named pack under id ("" for the pack's own) with config
// (nil for the one it was inserted with) and keeps it until Close. The error is
// an *Error of kind Unavailable.
func (r *Registry) Construct(name, id string, config Raw, host *Host) (*Instance, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	row, ok := r.available[name]
	if !ok {
		return nil, Errorf(KindUnavailable, "unknown pack %q; known: %s", name, quoted(maps.Keys(r.available)))
	}
	if id == "" {
		id = row.info.ID
	}
	if _, taken := r.live[id]; taken {
		return nil, Errorf(KindUnavailable, "the id %q is taken; close it first or construct under another id", id)
	}
	if config == nil {
		config = row.config
	}
	p, err := row.info.New(id, config, host)
	if err != nil {
		e := *AsError(err)
		e.Kind = KindUnavailable
		return nil, &e
	}
	instance := &Instance{ID: id, Info: row.info, Pack: p}
	r.live[id] = instance
	return instance, nil
}

// Get returns the pack that lives under id and is not being closed, or an *Error
// of kind Unavailable.
func (r *Registry) Get(id string) (*Instance, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	instance, err := r.find(id)
	if err == nil && instance.closing != nil {
		return nil, Errorf(KindUnavailable, "the pack %q is being closed", id)
	}
	return instance, err
}

// find returns the pack that has the id. Its caller holds mu.
func (r *Registry) find(id string) (*Instance, error) {
	if instance, ok := r.live[id]; ok {
		return instance, nil
	}
	if len(r.live) == 0 {
		return nil, Errorf(KindUnavailable, "no pack is constructed under the id %q; send construct first", id)
	}
	return nil, Errorf(KindUnavailable, "no pack is constructed under the id %q; constructed: %s", id, quoted(maps.Keys(r.live)))
}

// Invoke runs the call on the pack that tool names: the text before its first
// slash is the pack's id, the rest is the tool, which replaces call.Tool.
func (r *Registry) Invoke(ctx context.Context, tool string, call *Call) (*Result, error) {
	id, name, ok := strings.Cut(tool, "/")
	if !ok {
		return nil, Errorf(KindMessage, "the tool %q has no pack id; write <id>/<tool>", tool)
	}
	instance, err := r.Get(id)
	if err != nil {
		return nil, err
	}
	call.Tool = name
	return instance.Invoke(ctx, call)
}

// Close closes the pack that lives under id, once: whoever comes second waits for
// the first, until ctx ends. The id is free when the pack has closed, whatever it
// says.
func (r *Registry) Close(ctx context.Context, id string) error {
	r.mu.Lock()
	instance, err := r.find(id)
	if err != nil {
		r.mu.Unlock()
		return err
	}
	if instance.closing != nil {
		r.mu.Unlock()
		select {
		case <-instance.closing:
			return instance.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	instance.closing = make(chan struct{})
	r.mu.Unlock()

	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.live, id)
		close(instance.closing)
	}()
	instance.err = instance.Pack.Close(ctx)
	return instance.err
}

// CloseAll closes every pack side by side and returns when all are closed or ctx
// has ended, whichever comes first: a pack that does not end in time is left
// behind.
func (r *Registry) CloseAll(ctx context.Context) error {
	r.mu.Lock()
	ids := slices.Sorted(maps.Keys(r.live))
	r.mu.Unlock()
	results := make(chan error, len(ids))
	for _, id := range ids {
		go func() { results <- r.Close(ctx, id) }()
	}
	var errs []error
	for range ids {
		select {
		case err := <-results:
			errs = append(errs, err)
		case <-ctx.Done():
			return errors.Join(append(errs, ctx.Err())...)
		}
	}
	return errors.Join(errs...)
}

func quoted(names func(func(string) bool)) string {
	list := slices.Sorted(names)
	for i, name := range list {
		list[i] = fmt.Sprintf("%q", name)
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
