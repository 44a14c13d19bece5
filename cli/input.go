package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/redact"
)

// shownFile is what messages call the file of that name.
func shownFile(name string) string {
	if name == "-" {
		return "stdin"
	}
	return redact.Escape(name)
}

// readFile returns the text of a file ("-" for stdin) of at most the size that
// bound allows, without a byte order mark. It ends with ctx.
func (a *app) readFile(ctx context.Context, name string, bound limit.Name, limits limit.Table) ([]byte, error) {
	most := int64(limits.Int(bound))
	read := readRegular
	if name == "-" {
		read = a.readStdin
	}
	text, err := read(ctx, name, most+1)
	switch {
	case err != nil:
		return nil, err
	case int64(len(text)) > most:
		return nil, limits.Exceeded(bound, shownFile(name))
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")):
		// Older shells of Windows write this for `>`.
		return nil, fmt.Errorf("%s is UTF-16; save it as UTF-8", shownFile(name))
	}
	return bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), nil
}

// readRegular reads at most size bytes of a regular file. Anything else is
// refused (T42): reading a pipe may wait for ever, and reading a device may do
// more than read. It is opened without waiting and judged when it is open, so
// that what is judged is what is read.
func readRegular(_ context.Context, name string, size int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|openNoWait, 0)
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("%s: %w", shownFile(name), path.Err)
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is %s; only a regular file is read, or stdin, whose name is -", shownFile(name), kindOfFile(info.Mode()))
	}
	return io.ReadAll(io.LimitReader(f, size))
}

// kindOfFile names what is no regular file.
func kindOfFile(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else than a file"
}

// readStdin reads at most size bytes, to the end of stdin or of ctx. Where a
// read cannot be ended, as that of a terminal, its goroutine is left behind.
func (a *app) readStdin(ctx context.Context, _ string, size int64) ([]byte, error) {
	in, release := fastInput(a.in)
	var text []byte
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		text, err = io.ReadAll(io.LimitReader(in, size))
	}()
	select {
	case <-done:
		release()
		return text, err
	case <-ctx.Done():
	}
	if in, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok && in.SetReadDeadline(time.Unix(1, 0)) == nil {
		<-done
		release()
	}
	return nil, interrupted()
}
