package bridge

import (
	"context"
	"sync"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
)

// OpenTime is how long a start waits until the server has accepted the stream
// on which it tells of changes, so that none falls between that and the
// listing. Some servers send the head of that stream with the first message,
// and their listing counts as doubtful when it comes: see mcpclient.Freshness.
const OpenTime = 500 * time.Millisecond

// Listen starts to listen to what the server says of its own accord and returns
// when that is settled, OpenTime is over, or start ends. The listening ends with
// ctx; the function returned ends it before that, and waits.
func Listen(ctx, start context.Context, session *mcpclient.Session) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	settled := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() { session.Listen(ctx, func() { close(settled) }) })
	timer := time.NewTimer(OpenTime)
	defer timer.Stop()
	select {
	case <-settled:
	case <-timer.C:
	case <-start.Done():
	}
	return func() {
		cancel()
		listening.Wait()
	}
}
