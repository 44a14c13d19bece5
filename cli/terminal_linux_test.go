package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/conformance/fakeserver"
	"github.com/toolhost/toolhost/redact"
)

// openTerminal returns a terminal of that many columns, and a function that
// closes it and returns all that was written to it.
func openTerminal(t *testing.T, columns uint16) (terminal *os.File, screen func() string) {
	terminal, _, screen = openKeyboard(t, columns)
	return terminal, screen
}

// openKeyboard is openTerminal with the end that is typed on.
func openKeyboard(t *testing.T, columns uint16) (terminal, master *os.File, screen func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := master.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var number int
	if err := control(conn, func(fd uintptr) (err error) {
		if err := unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		if number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN); err != nil {
			return err
		}
		return unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}); err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	done := make(chan struct{})
	go func() {
		io.Copy(&text, master) // ends with EIO when the terminal is closed
		close(done)
	}()
	return terminal, master, func() string {
		terminal.Close()
		<-done
		master.Close()
		return text.String()
	}
}

// render returns the lines that stand on the terminal in the end, of a terminal
// that is wide enough. It knows the two sequences that the table uses.
func render(t *testing.T, text string) []string {
	t.Helper()
	lines, row := []string{}, 0
	sequence := regexp.MustCompile(`^\x1b\[([0-9]*)([AJ])`)
	for text != "" {
		if match := sequence.FindStringSubmatch(text); match != nil {
			n, _ := strconv.Atoi(match[1])
			switch match[2] {
			case "A":
				row -= n
			case "J": // from the cursor on, which is at the start of a line
				lines = lines[:row]
			}
			text = text[len(match[0]):]
			continue
		}
		for len(lines) <= row {
			lines = append(lines, "")
		}
		switch text[0] {
		case '\x1b':
			t.Fatalf("a sequence that the table does not use: %.20q", text)
		case '\r':
		case '\n':
			row++
		default:
			lines[row] += text[:1]
		}
		text = text[1:]
	}
	return lines
}

func TestNoArgumentsOnATerminalShowsHelp(t *testing.T) {
	terminal, screen := openTerminal(t, 80)
	var out, stderr bytes.Buffer
	code := Run(t.Context(), nil, terminal, &out, &stderr)
	screen()
	if code != 0 || !strings.Contains(out.String(), "Available Commands:") || stderr.Len() > 0 {
		t.Errorf("exit code %d\n%s%s", code, &out, &stderr)
	}
}

func TestCheckOnATerminalDrawsATable(t *testing.T) {
	server := fakeserver.StartTest(t, fakeserver.Options{Era: fakeserver.Modern})
	docs := fmt.Sprintf(`"docs": {"url": %q, "disabled": true}`, server.URL())
	config := configure(t, docs, `"a\u001b[2Jb": {"command": "npx", "args": 1}`, `"long": {"command": "npx", "args": 1}`)
	const columns = 40
	terminal, screen := openTerminal(t, columns)
	var stderr bytes.Buffer
	code := Run(t.Context(), []string{"check", "--config", config}, strings.NewReader(""), terminal, &stderr)
	text := screen()
	if code != exitNotReady || stderr.Len() > 0 {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	// While the table may be drawn again no line is wider than the terminal; what
	// stays tells the whole reason, however long.
	frames := strings.Split(text, "\x1b[J")
	for _, frame := range frames[:len(frames)-1] {
		for line := range strings.Lines(frame) {
			if line = strings.TrimRight(line, "\r\n"); len([]rune(line)) > columns && !strings.HasPrefix(line, "\x1b[") {
				t.Errorf("a line of a table that is drawn over has more than %d columns: %q", columns, line)
			}
		}
	}
	if !strings.Contains(frames[0], "…") {
		t.Errorf("a line was cut without a mark: %q", frames[0])
	}
	want := []string{
		fmt.Sprintf("connected   docs         %d tools", len(fakeserver.Builtin())),
		`warning     docs         disabled has no effect: the server is used; take the entry out to switch it off`,
		`failed      a\u{1b}[2Jb  args must be an array of strings, not a number`,
		`failed      long         args must be an array of strings, not a number`,
		"1 of 3 servers are connected",
	}
	if lines := render(t, text); !slices.Equal(lines, want) {
		t.Errorf("the terminal shows\n%s", strings.Join(lines, "\n"))
	}
}

func TestCheckOnATerminalThatIsTooLow(t *testing.T) {
	const servers = 30
	entries := make([]string, servers)
	for i := range entries {
		entries[i] = fmt.Sprintf(`"s%d": {"command": "npx", "args": 1}`, i)
	}
	terminal, screen := openTerminal(t, 80)
	code := Run(t.Context(), []string{"check", "--config", configure(t, entries...)}, strings.NewReader(""), terminal, io.Discard)
	text := screen()
	if code != exitNotReady || strings.Contains(text, "\x1b") || strings.Count(text, "failed ") != servers {
		t.Errorf("exit code %d\n%s", code, text)
	}
}

func TestCallOnATerminalEscapes(t *testing.T) {
	server := fakeserver.StartTest(t, fakeserver.Options{Era: fakeserver.Modern})
	terminal, screen := openTerminal(t, 80)
	var stderr bytes.Buffer
	code := Run(t.Context(), []string{"call", "--config", configure(t, entry("demo", server)), "demo", "echo", `{"text": "one\ntwo \u001b]0;title\u0007"}`},
		strings.NewReader(""), terminal, &stderr)
	if got, want := screen(), "one\r\ntwo \\u{1b}]0;title\\u{7}\r\n"; code != 0 || got != want {
		t.Errorf("exit code %d: got %q, want %q\n%s", code, got, want, &stderr)
	}
}

// TestS2_16_CallAsksOnATerminal has a server ask for a form, whose first answer does
// not fit, and for a page to be visited.
func TestS2_16_CallAsksOnATerminal(t *testing.T) {
	terminal, keyboard, screen := openKeyboard(t, 80)
	if _, err := io.WriteString(keyboard, "Soup\n12\n\n"+"\n2\n\n"+"\n"); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	code := Run(t.Context(), []string{"call", "--config", configure(t, localEntry(t, "shop", "asks", "")), "shop", "order"}, terminal, &out, terminal)
	text := screen()
	if want := `{"what":{"action":"accept","content":{"dish":"Soup","amount":2}},"where":{"action":"accept"}}` + "\n"; code != 0 || out.String() != want {
		t.Errorf("exit code %d: %swant %s", code, &out, want)
	}
	for _, want := range []string{"The server shop asks:\r\n\r\n  What do you want?\r\n", "Dish\r\n  a text: ", "That does not fit: ", "  a text [Soup]: ", "https://pay.example/x?order=1\r\n"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("not once %q on the terminal:\n%s", want, text)
		}
	}
}

// TestInterruptEndsAQuestion: Ctrl-C, which main turns into the end of the context.
func TestInterruptEndsAQuestion(t *testing.T) {
	terminal, _, screen := openKeyboard(t, 80)
	ctx, cancel := context.WithCancel(t.Context())
	shown := &trigger{Writer: terminal, on: "a text: ", do: cancel}
	scrub := redact.NewScrubber()
	a := &app{in: terminal, out: io.Discard, err: newLogSink(shown, scrub), scrub: scrub, attended: true}
	c := newConnection()
	c.config = configure(t, localEntry(t, "shop", "asks", ""))
	_, err := a.call(ctx, c, []string{"shop", "order"})
	a.err.Close()
	screen()
	if exitCode(err) != exitInterrupted {
		t.Errorf("exit code %d: %v", exitCode(err), err)
	}
}

// A trigger does something when a text is written.
type trigger struct {
	io.Writer
	on string
	do func()
}

func (w *trigger) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.on) {
		w.do()
	}
	return w.Writer.Write(p)
}
