package rpc

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// The headers of the Language Server Protocol 3.17, "Base Protocol".
const (
	contentLength = "Content-Length"
	contentType   = "Content-Type"
)

// maxHeader bounds one header line, and maxHeaders the lines before one message.
// The two headers that there are have some 60 bytes.
const (
	maxHeader  = 8 << 10
	maxHeaders = 64
)

// An lspFramer reads messages that stand behind headers with their length.
type lspFramer struct {
	in    *bufio.Reader
	limit int
	found *finder
}

func newLSPFramer(r io.Reader, limit int) *lspFramer {
	return &lspFramer{in: bufio.NewReaderSize(r, 64<<10), limit: limit, found: &finder{}}
}

func (f *lspFramer) next() ([]byte, error) {
	length, err := f.header()
	if err != nil {
		return nil, err
	}
	if length > int64(f.limit) {
		if _, err := io.CopyN(f.found, f.in, length); err != nil {
			return nil, err
		}
		return nil, &tooLong{f.found.take()}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(f.in, body); err != nil {
		return nil, inside(err)
	}
	return body, nil
}

// header reads the header lines of one message and returns the length they give.
func (f *lspFramer) header() (int64, error) {
	length := int64(-1)
	for lines := 0; ; lines++ {
		line, err := f.in.ReadSlice('\n')
		switch text := bytes.TrimSpace(line); {
		case err == bufio.ErrBufferFull || len(line) > maxHeader || lines == maxHeaders:
			return 0, fmt.Errorf("%w: a header of more than %d bytes or %d lines", errCut, maxHeader, maxHeaders)
		case err != nil:
			return 0, err
		case len(text) == 0 && lines == 0:
			lines-- // blank lines between messages harm nobody
		case len(text) == 0 && length < 0:
			return 0, fmt.Errorf("%w: a header without %s", errCut, contentLength)
		case len(text) == 0:
			return length, nil
		default:
			if length, err = readHeader(text, length); err != nil {
				return 0, err
			}
		}
	}
}

// readHeader reads one header line and returns the length that is known then.
func readHeader(line []byte, length int64) (int64, error) {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return 0, fmt.Errorf("%w: a header line without a colon", errCut)
	}
	if !bytes.EqualFold(name, []byte(contentLength)) {
		return length, nil
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%w: %s is no decimal number of bytes", errCut, contentLength)
	}
	if length >= 0 && length != int64(n) {
		return 0, fmt.Errorf("%w: two headers %s that differ", errCut, contentLength)
	}
	return int64(n), nil
}

// inside turns an end inside a message into the end: what is cut short is not
// served, and nobody is left to be told.
func inside(err error) error {
	if err == io.ErrUnexpectedEOF {
		return io.EOF
	}
	return err
}

// appendHeader appends the header of a message of that length.
func appendHeader(dst []byte, length int) []byte {
	dst = append(dst, contentLength+": "...)
	dst = strconv.AppendInt(dst, int64(length), 10)
	return append(dst, "\r\n\r\n"...)
}
