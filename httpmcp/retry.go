package httpmcp

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
)

const (
	// repeats is how often a repeatable request is sent again. A server that is
	// down for longer is the business of the one who opens sessions.
	repeats = 2

	repeatWait = 250 * time.Millisecond // before the first repeat; then doubled
)

// sendRepeatable sends a request without side effects: the handshake, a list.
// Only these go through go-retryablehttp.
func (x *exchange) sendRepeatable(r *http.Request) (*http.Response, error) {
	request, err := retryablehttp.FromRequest(r)
	if err != nil {
		return nil, err
	}
	if err := request.SetBody(x.req.Body); err != nil {
		return nil, err
	}
	client := &retryablehttp.Client{
		HTTPClient:   &http.Client{Transport: refuseRedirects{x.t}},
		Logger:       nil, // its own prints urls
		RetryMax:     repeats,
		Backoff:      func(_, _ time.Duration, n int, resp *http.Response) time.Duration { return repeatAfter(n, resp) },
		ErrorHandler: retryablehttp.PassthroughErrorHandler, // else the error quotes the url
	}
	var n int
	client.RequestLogHook = func(_ retryablehttp.Logger, _ *http.Request, repeat int) {
		if n = repeat; n > 0 {
			x.sent.again(false)
		}
	}
	client.CheckRetry = func(ctx context.Context, resp *http.Response, err error) (bool, error) {
		again, err := x.repeatable(ctx, n, resp, err)
		if again && n < repeats {
			x.carry(x.req.Again())
			err = request.SetBody(x.req.Body)
		}
		return again, err
	}
	resp, err := client.Do(request)
	if err != nil && resp != nil {
		resp.Body.Close()
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // its text begins with the url, which could look like a cause
	}
	return resp, err
}

// refuseRedirects makes an error of a redirect before http.Client sees it, which
// reads its target even when it is not to follow it.
type refuseRedirects struct{ t *Transport }

func (r refuseRedirects) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.t.calls.RoundTrip(req)
	if err != nil || resp.StatusCode/100 != 3 {
		return resp, err
	}
	defer resp.Body.Close()
	return nil, r.t.redirected(resp)
}

func isRedirect(err error) bool {
	var wire *mcpclient.WireError
	return errors.As(err, &wire)
}

// repeatable decides whether the n-th sending is worth another.
func (x *exchange) repeatable(ctx context.Context, n int, resp *http.Response, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	wait := repeatAfter(n, resp)
	if wait > x.t.limits.Time(limit.RetryAfter) || !x.deadline.IsZero() && time.Until(x.deadline) <= wait {
		return false, nil
	}
	if err != nil {
		x.t.kept.note(&x.sent)
		// A server that cannot be connected to is not there.
		return x.sent.connected && !headerTooBig(err) && !isRedirect(err), nil
	}
	switch resp.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true, nil
	case http.StatusTooManyRequests:
		_, told := retryAfter(resp.Header)
		return told, nil
	}
	return false, nil
}

// repeatAfter is the wait before the next sending: what the server asked for, but
// at least our own.
func repeatAfter(n int, resp *http.Response) time.Duration {
	wait := repeatWait << n
	if resp != nil {
		if told, ok := retryAfter(resp.Header); ok {
			wait = max(wait, told)
		}
	}
	return wait
}

// The waits between openings of a stream (T16): what the server's retry field
// asks for is honoured within these bounds.
const (
	minReopen     = 500 * time.Millisecond
	maxReopen     = 30 * time.Second
	defaultReopen = time.Second
)

// A pace spaces the openings of one stream.
type pace struct {
	asked time.Duration // by the server's last retry field; 0 when there was none
	tries int           // since the stream was last well
}

// heed takes what the server asks for, which holds until it asks for another.
func (p *pace) heed(retry time.Duration, ok bool) {
	if ok {
		p.asked = min(max(retry, minReopen), maxReopen)
	}
}

// next returns the wait before the next opening. The first is as asked; those
// after it are doubled, with a random part that only lengthens them, so that many
// clients of one server do not come back all at once.
func (p *pace) next() time.Duration {
	wait := defaultReopen
	if p.asked > 0 {
		wait = p.asked
	}
	wait = min(wait<<min(p.tries, 6), maxReopen)
	if p.tries > 0 {
		wait += rand.N(wait/10 + 1)
	}
	p.tries++
	return wait
}

func (p *pace) well() { p.tries = 0 }

// sleep waits, and returns the context's cause when it ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
