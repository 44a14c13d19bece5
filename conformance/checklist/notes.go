package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// notes are the notifications, and questions, that the child has sent to its host.
type notes struct {
	mu      sync.Mutex
	all     []note        // guarded by mu
	changed chan struct{} // closed and replaced at each; guarded by mu
}

type note struct {
	method string
	params json.RawMessage
}

func newNotes() *notes { return &notes{changed: make(chan struct{})} }

// take is called by the child's reader.
func (n *notes) take(method string, params json.RawMessage) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, note{method, bytes.Clone(params)})
	close(n.changed)
	n.changed = make(chan struct{})
}

// next is closed when another notification comes.
func (n *notes) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed
}

// find returns the params of all such notifications.
func (n *notes) find(method, matcher string) (found []json.RawMessage) {
	n.mu.Lock()
	all := slices.Clone(n.all)
	n.mu.Unlock()
	for _, one := range all {
		if one.method == method && match(matcher, one.params) == nil {
			found = append(found, one.params)
		}
	}
	return found
}

// wait waits for so many such notifications.
func (n *notes) wait(ctx context.Context, times int, method, matcher string) error {
	for {
		next := n.next()
		found := len(n.find(method, matcher))
		if found >= times {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return fmt.Errorf("%d such notifications; %s", found, n.last(method))
		}
	}
}

// last shows the newest notification of a method.
func (n *notes) last(method string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, one := range slices.Backward(n.all) {
		if one.method == method {
			return fmt.Sprintf("the last %s was %.300s", method, one.params)
		}
	}
	return "there was no " + method
}
