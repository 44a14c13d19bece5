package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// This file makes the servers and replies of siblings, for fakeserver to play.

// options are those of a healthy server for the way that is played.
func (p *play) options(script ...fakeserver.Row) fakeserver.Options {
	opts := fakeserver.Options{Script: script}
	if p.era == modern {
		opts.Era = fakeserver.Modern
	}
	if p.reply == "sse" {
		opts.Answer = fakeserver.SSE
	}
	return opts
}

// scripted makes a server of rows that are the same in every way.
func scripted(script ...fakeserver.Row) func(*play) fakeserver.Options {
	return func(p *play) fakeserver.Options { return p.options(script...) }
}

// sessionless is scripted without sessions, for rows that answer in the place of
// what opens one.
func sessionless(script ...fakeserver.Row) func(*play) fakeserver.Options {
	return func(p *play) fakeserver.Options {
		opts := p.options(script...)
		opts.NoSessions = true
		return opts
	}
}

// onCall is a row for the nth tools/call; 0 for all.
func onCall(nth int, reply fakeserver.Reply) fakeserver.Row {
	return fakeserver.Row{Method: "tools/call", Nth: nth, Reply: reply}
}

// on is a row for every request of a method.
func on(method string, reply fakeserver.Reply) fakeserver.Row {
	return fakeserver.Row{Method: method, Reply: reply}
}

// callResult is an answer to a call that is right in both eras.
var callResult = fakeserver.Result(`{"resultType":"complete","content":[{"type":"text","text":"the answer"}]}`)

// jsonReply is one JSON body.
func jsonReply(body string) fakeserver.Reply {
	return fakeserver.Reply{Func: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, filled(body, r))
	}}
}

// stream is a reply of chunks.
func stream(chunks ...string) fakeserver.Reply {
	var r fakeserver.Reply
	for _, text := range chunks {
		r.Chunks = append(r.Chunks, fakeserver.Chunk{Text: text})
	}
	return r
}

// held is a stream that stays open behind its chunks.
func held(chunks ...string) fakeserver.Reply {
	r := stream(chunks...)
	r.Hold = true
	return r
}

// eventReply is a stream of one event.
func eventReply(body string) fakeserver.Reply { return stream("data: " + body + "\n\n") }

// trickle is a stream in which something comes again and again.
func trickle(text string) fakeserver.Reply {
	r := held()
	for range 600 {
		r.Chunks = append(r.Chunks, fakeserver.Chunk{Text: text, After: 50 * msec})
	}
	return r
}

// bytewise writes text in pieces of one byte.
func bytewise(text string) []string {
	var list []string
	for at := 0; at < len(text); {
		n := 1
		if strings.HasPrefix(text[at:], "%ID%") {
			n = len("%ID%")
		}
		list = append(list, text[at:at+n])
		at += n
	}
	return list
}

// wire is a reply written to the connection as it is, which is then closed.
func wire(text string) fakeserver.Reply {
	return fakeserver.Reply{Func: func(w http.ResponseWriter, r *http.Request) {
		hijacked(w, func(conn net.Conn) { io.WriteString(conn, filled(text, r)) })
	}}
}

// hijacked lets f write to the connection and then closes it.
func hijacked(w http.ResponseWriter, f func(net.Conn)) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	f(conn)
}

// wireAndHold writes text to the connection and waits until the client has gone.
func wireAndHold(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		hijacked(w, func(conn net.Conn) {
			io.WriteString(conn, text)
			io.Copy(io.Discard, conn)
		})
	}
}

// wireForEver writes text to the connection again and again until the client has
// gone.
func wireForEver(text string, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		hijacked(w, func(conn net.Conn) {
			for _, err := io.WriteString(conn, text); err == nil; _, err = io.WriteString(conn, text) {
				time.Sleep(pause)
			}
		})
	}
}

// waitForEnd answers nothing until the client has gone.
func waitForEnd(_ http.ResponseWriter, r *http.Request) { gone(r) }

// gone waits until the client has gone.
func gone(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-time.After(rowLimit):
	}
}

// headOnly begins an answer and then does the same.
func headOnly(contentType string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		http.NewResponseController(w).Flush()
		gone(r)
	}
}

// slowJSON writes a blank, which JSON allows, again and again.
func slowJSON(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	for r.Context().Err() == nil {
		fmt.Fprint(w, " ")
		http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(50 * msec):
		}
	}
}

// pour writes blanks without end behind a beginning.
func pour(w io.Writer, begin string) {
	blanks := strings.Repeat(" ", 64<<10)
	for _, err := io.WriteString(w, begin); err == nil; _, err = io.WriteString(w, blanks) {
	}
}

// filled puts the id of the request for %ID%, and the length of what follows the
// head for %LEN%.
func filled(text string, r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	var m struct{ ID json.RawMessage }
	if err != nil || json.Unmarshal(body, &m) != nil {
		panic(http.ErrAbortHandler)
	}
	text = strings.ReplaceAll(text, "%ID%", string(m.ID))
	if _, body, ok := strings.Cut(text, "\r\n\r\n"); ok {
		text = strings.ReplaceAll(text, "%LEN%", fmt.Sprint(len(body)))
	}
	return text
}
