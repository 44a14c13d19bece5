package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	neturl "net/url"
	"sync"
	"time"
)

// A browser is the user's: the only code of the driver that reaches a network. It goes
// where the host asks for, and from there to where that page sends it, which must be
// on this machine: two steps, as many as a sign-in without a person takes.
type browser struct {
	mu     sync.Mutex
	visits int   // guarded by mu
	err    error // guarded by mu; the first thing that went wrong
}

// visitLimit bounds one step.
const visitLimit = 10 * time.Second

// visit makes one visit and reports whether it came to its end.
func (b *browser) visit(ctx context.Context, page string) bool {
	b.mu.Lock()
	b.visits++
	b.mu.Unlock()
	back, err := step(ctx, page, http.StatusFound)
	if err == nil {
		err = onThisMachine(back)
	}
	if err == nil {
		_, err = step(ctx, back, http.StatusOK)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("the browser: %w", err)
	}
	return err == nil
}

// state returns the number of visits so far, and what went wrong.
func (b *browser) state() (visits int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.visits, b.err
}

// step loads one page, whose status must be that, and returns where it leads.
func step(ctx context.Context, page string, status int) (location string, err error) {
	ctx, cancel := context.WithTimeout(ctx, visitLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return "", err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(request) // which follows no redirect
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)); err != nil {
		return "", err
	}
	if resp.StatusCode != status {
		return "", fmt.Errorf("a page answers with status %d, want %d", resp.StatusCode, status)
	}
	return resp.Header.Get("Location"), nil
}

func onThisMachine(page string) error {
	u, err := neturl.Parse(page)
	if err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(u.Host)
	if err != nil {
		return err
	}
	if address, err := netip.ParseAddr(host); err != nil || !address.IsLoopback() || u.Scheme != "http" {
		return errors.New("it is sent to somewhere else than this machine")
	}
	return nil
}
