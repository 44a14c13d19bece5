package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestS1_16_WaitsDoubleToAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := Policy{First: time.Second, Max: time.Minute}
		start := time.Now()
		var at, waits []time.Duration
		attempt := func(context.Context) error {
			at = append(at, time.Since(start))
			if len(at) == 10 {
				return nil
			}
			return errors.New("down")
		}
		if err := policy.Run(t.Context(), attempt, func(_ error, wait time.Duration) { waits = append(waits, wait) }); err != nil {
			t.Fatal(err)
		}
		if want := "[1s 2s 4s 8s 16s 32s 1m0s 1m0s 1m0s]"; fmt.Sprint(waits) != want {
			t.Errorf("waits %v, want %v", waits, want)
		}
		if want := "[0s 1s 3s 7s 15s 31s 1m3s 2m3s 3m3s 4m3s]"; fmt.Sprint(at) != want {
			t.Errorf("attempts at %v, want %v", at, want)
		}
	})
}

func TestPolicyHonoursTheServersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := Policy{First: time.Second, Max: time.Minute}
		asked := []time.Duration{20 * time.Second, time.Hour, 0}
		var waits []time.Duration
		attempt := func(context.Context) error {
			if len(waits) == len(asked) {
				return nil
			}
			return fmt.Errorf("start: %w", &WireError{RetryAfter: asked[len(waits)]})
		}
		if err := policy.Run(t.Context(), attempt, func(_ error, wait time.Duration) { waits = append(waits, wait) }); err != nil {
			t.Fatal(err)
		}
		if want := "[20s 1m0s 4s]"; fmt.Sprint(waits) != want {
			t.Errorf("waits %v, want %v", waits, want)
		}
	})
}

func TestPolicyEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("gone")
		for _, during := range []string{"the wait", "the attempt"} {
			ctx, cancel := context.WithCancelCause(t.Context())
			attempts, failures := 0, 0
			err := Policy{First: time.Second, Max: time.Minute}.Run(ctx, func(context.Context) error {
				attempts++
				if during == "the attempt" {
					cancel(gone)
				} else {
					time.AfterFunc(time.Millisecond, func() { cancel(gone) })
				}
				return errors.New("down")
			}, func(error, time.Duration) { failures++ })
			if !errors.Is(err, gone) || attempts != 1 || (failures == 1) != (during == "the wait") {
				t.Errorf("%s: %v after %d attempts and %d failures", during, err, attempts, failures)
			}
		}
	})
}
