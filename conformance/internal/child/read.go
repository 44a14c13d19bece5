package child

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// read takes every message of stdout until its end, then waits for the process.
func (c *Child) read(r *bufio.Reader) {
	var err error
	for err == nil {
		var text []byte
		text, err = c.next(r)
		if len(text) > 0 && (c.opts.Take == nil || !c.opts.Take(text)) {
			c.take(text)
		}
	}
	c.mu.Lock()
	c.err = errors.New("the child has ended")
	for _, ch := range c.waiting {
		close(ch)
	}
	clear(c.waiting)
	c.mu.Unlock()
	c.cmd.Wait()
	close(c.done)
}

// next returns the next message, which is valid until it is called again.
func (c *Child) next(r *bufio.Reader) ([]byte, error) {
	if c.opts.Framing != LSP {
		text, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			text = bytes.Clone(text)
			var rest []byte
			rest, err = r.ReadBytes('\n')
			text = append(text, rest...)
		}
		return text[:max(0, len(text)-1)], err
	}
	length := -1
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "" {
			break
		}
		if strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return nil, err
			}
		}
	}
	if length < 0 {
		return nil, errors.New("a header without Content-Length")
	}
	text := make([]byte, length)
	_, err := io.ReadFull(r, text)
	return text, err
}

func (c *Child) take(text []byte) {
	c.check(ChildToHost, text)
	var m struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
		Result json.RawMessage
		Error  json.RawMessage
	}
	err := json.Unmarshal(text, &m)
	if err == nil && m.Method != "" && m.ID == nil {
		if c.opts.Notify != nil {
			c.opts.Notify(m.Method, m.Params)
		}
		return
	}
	if err == nil && m.Method != "" && c.opts.Answer != nil {
		go c.answer(m.ID, m.Method, m.Params)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := c.waiting[string(m.ID)]
	if err != nil || m.Method != "" || ch == nil {
		c.strays = append(c.strays, string(text))
		return
	}
	reply := Reply{ID: m.ID, Result: m.Result, Failure: m.Error}
	if m.Error != nil && json.Unmarshal(m.Error, &reply.Error) != nil {
		c.strays = append(c.strays, string(text))
		return
	}
	delete(c.waiting, string(m.ID))
	ch <- reply
}

// answer answers a question of the child's. One that came too late to be written is
// of no interest: the child has ended.
func (c *Child) answer(id json.RawMessage, method string, params json.RawMessage) {
	if result := c.opts.Answer(method, params); result != "" {
		c.Write(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + `}`)
	}
}
