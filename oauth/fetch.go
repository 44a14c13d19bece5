package oauth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/redact"
)

// A fetcher makes the requests of one sign-in or renewal, within their limits (L37).
type fetcher struct {
	http   *http.Client
	limits limit.Table
	made   int
}

func (c *Client) fetcher() *fetcher { return &fetcher{http: c.http, limits: c.opts.Limits} }

// An answer is what came back.
type answer struct {
	status int
	object rawjson.Object // nil when the body is no JSON object
	html   bool
	wrong  error // why it is none
}

// errAbsent says that there is no document at a URL.
var errAbsent = errors.New("absent")

// document gets a JSON document. The error is errAbsent when there is none: the
// server says so, or gives a web page to whatever it is asked for. step names the
// document, at the URL, in errors.
func (f *fetcher) document(ctx context.Context, step, rawURL string) (rawjson.Object, error) {
	if f.made++; f.made > f.limits.Int(limit.SignInRequests) {
		return nil, f.limits.Exceeded(limit.SignInRequests, "the number of documents asked for")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, rawURL, nil)
	if err != nil {
		return nil, refused(step, "it is at no valid URL")
	}
	a, err := f.do(ctx, step, request, limit.SignInDocument)
	if err != nil {
		return nil, err
	}
	switch {
	case a.status/100 == 4 && a.status != http.StatusRequestTimeout && a.status != http.StatusTooManyRequests, a.status/100 == 2 && a.html:
		return nil, errAbsent
	case a.status != http.StatusOK:
		return nil, &Error{Step: step, Reason: statusText(a.status), Err: errStatus}
	case a.object == nil:
		return nil, refused(step, "it is "+a.wrong.Error())
	}
	return a.object, nil
}

var errStatus = errors.New("a status that is no success")

// do sends a request. A redirect is an error: followed, it would carry the code, the
// verifier or the secret to where the answer says (T02).
func (f *fetcher) do(ctx context.Context, step string, request *http.Request, bound limit.Name) (*answer, error) {
	timed, cancel := context.WithTimeout(ctx, f.limits.Time(limit.SignInRequestTime))
	defer cancel()
	request = request.WithContext(timed)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "toolhost")
	resp, err := f.http.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, unreachable(step, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 == 3 {
		return nil, refused(step, statusText(resp.StatusCode)+" redirects elsewhere, and redirects are never followed")
	}
	most := f.limits.Int(bound)
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(most)+1))
	switch {
	case len(body) > most:
		return nil, f.limits.Exceeded(bound, step)
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, unreachable(step, err)
	}
	a := &answer{status: resp.StatusCode}
	media, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	a.html = strings.EqualFold(strings.TrimSpace(media), "text/html")
	a.object, a.wrong = rawjson.Split(body, rawjson.Bounds{
		Depth: f.limits.Int(limit.JSONDepth), Keys: f.limits.Int(limit.JSONKeys), Items: f.limits.Int(limit.JSONItems),
	})
	if a.wrong != nil {
		a.object, a.wrong = nil, errors.New("no JSON object")
	} else if _, twice := a.object.Duplicate(); twice {
		// Whoever wrote it and we may each have read another of the two.
		a.object, a.wrong = nil, errors.New("a JSON object with a member that stands twice")
	}
	return a, nil
}

func statusText(status int) string {
	return strings.TrimSpace("status " + strconv.Itoa(status) + " " + http.StatusText(status))
}

// at names a step with the host that it is about. The whole URL is none of a model's
// business, who may read the reason of a failure.
func at(step, rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return step
	}
	return step + " of " + redact.Escape(u.Host)
}
