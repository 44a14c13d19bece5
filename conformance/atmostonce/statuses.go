package main

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// statuses are those that clients, proxies or libraries repeat a request after.
// ran says whether the tool may have run before such an answer; a refusal before
// any work never comes after it.
var statuses = []struct {
	status int
	ran    bool
	header map[string]string
}{
	{301, true, map[string]string{"Location": "/mcp"}},
	{302, true, map[string]string{"Location": "/mcp"}},
	{303, true, map[string]string{"Location": "/mcp"}},
	{307, true, map[string]string{"Location": "/mcp"}},
	{308, true, map[string]string{"Location": "/mcp"}},
	{400, true, nil},
	{401, false, map[string]string{"WWW-Authenticate": `Bearer realm="x"`}},
	{403, true, nil},
	{404, false, nil},
	{407, false, map[string]string{"Proxy-Authenticate": "Basic"}},
	{408, true, nil},
	{408, true, map[string]string{"Connection": "close"}},
	{409, true, nil},
	{421, true, nil},
	{425, true, nil},
	{429, true, map[string]string{"Retry-After": "0"}},
	{429, true, map[string]string{"Retry-After": "1"}},
	{429, true, nil},
	{500, true, nil},
	{502, true, nil},
	{503, true, nil},
	{503, true, map[string]string{"Retry-After": "0"}},
	{504, true, nil},
}

// statusJobs are the jobs that answer calls with a status.
func statusJobs() []*job {
	var jobs []*job
	for _, era := range []fakeserver.Era{fakeserver.Legacy, fakeserver.Modern} {
		for _, sessions := range []bool{true, false} {
			if era == fakeserver.Modern && sessions {
				continue
			}
			s := setup{era: era}
			name := fmt.Sprintf("s%02d", len(jobs))
			jobs = append(jobs, &job{name: s.form() + ", statuses", run: func(ctx context.Context, toolhost string) ([]trial, error) {
				w, err := newWorld(ctx, toolhost, name, fakeserver.Options{Era: era, NoSessions: !sessions})
				if err != nil {
					return nil, err
				}
				err = statusCalls(w, sessions)
				trials, endErr := w.end()
				if err == nil {
					err = endErr
				}
				return trials, err
			}})
		}
	}
	return jobs
}

// statusCalls answers a call of each entry with each status, before and after the
// tool has run.
func statusCalls(w *world, sessions bool) error {
	pack, err := w.construct()
	if err != nil {
		return err
	}
	for _, s := range statuses {
		for _, ran := range []bool{false, true} {
			if ran && !s.ran {
				continue
			}
			for _, entry := range entries {
				when := "before the tool runs"
				if ran {
					when = "after the tool has run"
				}
				t := trial{cause: fmt.Sprintf("status %d %s", s.status, when), where: fmt.Sprintf("sessions %v, %v, %s", sessions, s.header, entry), nonce: w.nonce(), may: 1}
				if s.status == 404 && sessions {
					// The session is lost, so that the call has not run: it is sent on a new one.
					t.may = 2
				}
				w.server.set(t.nonce, plan{s.status, ran, s.header})
				done, err := w.call(t, pack, entry, 0, nil)
				if err != nil {
					return err
				}
				if done.may == 2 && done.outcome != "ok" {
					return fmt.Errorf("a call that lost its session did not come through: %v", done)
				}
			}
		}
	}
	return nil
}
