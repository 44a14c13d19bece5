//go:build unix

package cli

import (
	"bytes"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func nonblocking(t *testing.T, f *os.File) bool {
	t.Helper()
	conn, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var flags int
	if err := control(conn, func(fd uintptr) (err error) {
		flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return flags&unix.O_NONBLOCK != 0
}

// blocking returns a pipe as a process inherits it: in blocking mode.
func blocking(t *testing.T) (r, w *os.File) {
	t.Helper()
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	r, w = os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func TestPollablePipe(t *testing.T) {
	r, w := blocking(t)
	in, releaseIn := fastInput(r)
	out, releaseOut := fastOutput(w)
	if in == io.Reader(r) || out == io.Writer(w) || !nonblocking(t, r) || !nonblocking(t, w) {
		t.Fatal("a pipe was left blocking")
	}
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	go func() {
		out.Write(want)
		releaseOut()
		w.Close()
	}()
	got, err := io.ReadAll(in)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d of %d bytes: %v", len(got), len(want), err)
	}

	// A reader can be woken, which is how serve ends on a signal.
	r2, w2 := blocking(t)
	in2, release2 := fastInput(r2)
	if err := in2.(*os.File).SetReadDeadline(time.Now()); err != nil {
		t.Error(err)
	}
	if _, err := in2.Read(make([]byte, 1)); !os.IsTimeout(err) {
		t.Errorf("read: %v, want a timeout", err)
	}

	// Others who share the pipe find it as it was, and open.
	releaseIn()
	release2()
	if nonblocking(t, r) || nonblocking(t, r2) {
		t.Error("the pipe stays nonblocking")
	}
	if _, err := w2.WriteString("x"); err != nil {
		t.Error(err)
	}
	if n, err := r2.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("the original is closed: %v", err)
	}
}

func TestPollableSocket(t *testing.T) {
	// Node gives its children sockets.
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, b := os.NewFile(uintptr(fds[0]), "a"), os.NewFile(uintptr(fds[1]), "b")
	defer a.Close()
	defer b.Close()
	fast, release, ok := pollable(a)
	if !ok {
		t.Fatal("a socket was left alone")
	}
	defer release()
	if _, err := fast.WriteString("hello"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(b, got); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestFilesAreLeftAlone(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, f := range []*os.File{file, null} {
		if _, _, ok := pollable(f); ok || nonblocking(t, f) {
			t.Errorf("%s was touched", f.Name())
		}
		if _, ok := terminal(f); ok {
			t.Errorf("%s is taken for a terminal", f.Name())
		}
	}
	if _, ok := terminal(&bytes.Buffer{}); ok {
		t.Error("a buffer is taken for a terminal")
	}
	closed, _ := blocking(t)
	closed.Close()
	if _, _, ok := pollable(closed); ok {
		t.Error("a closed file was polled")
	}
}

func TestForbidCores(t *testing.T) {
	var before, after syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &before); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_CORE, &before)
	if err := forbidCores(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &after); err != nil || after.Cur != 0 || after.Max != before.Max {
		t.Errorf("limits %+v, before %+v: %v", after, before, err)
	}
}
