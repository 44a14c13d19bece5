package stdiomcp

import "os"

// A child is a started server with what it has started, as far as the system lets us
// hold on to that. Its methods may be called from any goroutine, and do nothing when
// all is gone.
type child interface {
	// terminate asks all of it to end, where the system has a way to ask.
	terminate()

	// kill ends all of it.
	kill()

	// abandon gives up what kill did not end within reason.
	abandon()

	// exited is closed when the server's own process has ended, and gone when
	// nothing is left to signal or to reap.
	exited() <-chan struct{}
	gone() <-chan struct{}

	// state says how the process ended, as in "exit status 3". It is known when
	// exited is closed.
	state() string
}

// start starts the server. It needs the order resolved and leaves the files of the
// order open.
func start(o *order, guard []string) (child, error) {
	if guarded := len(guard) > 0 && canGuard; guarded {
		return startGuarded(o, guard)
	}
	return startDirect(o)
}

// pipes makes the three pipes to a server. The order gets its ends.
func pipes(o *order) (stdin, stdout, stderr *os.File, err error) {
	var made []*os.File
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				made = append(made, r, w)
			}
		}
		return r, w
	}
	o.stdin, stdin = pipe()
	stdout, o.stdout = pipe()
	stderr, o.stderr = pipe()
	if err != nil {
		for _, f := range made {
			f.Close()
		}
	}
	return stdin, stdout, stderr, err
}

// release closes the server's ends, which it has itself by then.
func (o *order) release() {
	o.stdin.Close()
	o.stdout.Close()
	o.stderr.Close()
}
