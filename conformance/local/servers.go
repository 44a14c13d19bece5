package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A variant is one row of the table: a server in one era.
type variant struct {
	title, era string

	// make makes the server ready in a folder of its own. stdin is the file that it
	// has to keep its stdin in.
	make func(c commands, folder, stdin, era string) (*server, error)
}

func (v variant) name() string { return v.title + "-" + v.era }

var variants = []variant{
	{"everything", legacy, everything},
	{"filesystem", legacy, filesystem},
	{"memory", legacy, memory},
	{"python", legacy, python},
	{"python", modern, python},
	{"go", legacy, golang},
	{"go", modern, golang},
}

func everything(c commands, _, stdin, _ string) (*server, error) {
	document, err := os.ReadFile(filepath.Join(filepath.Dir(c.everything[len(c.everything)-1]), "docs", "features.md"))
	if err != nil {
		return nil, err
	}
	// What trigger-elicitation-request answers, without the rest of its answer.
	const declined = "❌ User declined to provide the requested information.\n\n\nRaw result: {\n  \"action\": \"decline\"\n}"
	return &server{
		command: c.everything,
		env:     map[string]string{"KEEP_STDIN": stdin},
		tools: strings.Fields(`echo get-annotated-message get-env get-resource-links get-resource-reference
			get-structured-content get-sum get-tiny-image gzip-file-as-resource toggle-simulated-logging
			toggle-subscriber-updates trigger-long-running-operation trigger-elicitation-request trigger-url-elicitation`),
		calls: []call{
			{name: "echo", arguments: `{"message":"über \u0001 \"quoted\""}`, content: "Echo: über \x01 \"quoted\""},
			{
				name: "get-structured-content", arguments: `{"location":"Chicago"}`,
				content:    `{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}`,
				structured: `{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}`,
			},
			{
				name: "get-resource-links", arguments: `{"count":1}`,
				content: "Here are 1 resource links to resources available in this server:\n\n[resource: demo://resource/dynamic/blob/1]",
				blocks: `[{"type":"text","text":"Here are 1 resource links to resources available in this server:"},` +
					`{"name":"Blob Resource 1","uri":"demo://resource/dynamic/blob/1","description":"Resource 1: plaintext resource","mimeType":"text/plain","type":"resource_link"}]`,
			},
		},
		prompt: &call{
			name: "args-prompt", arguments: `{"city":"Paris"}`, content: "What's weather in Paris?",
			structured: `{"messages":[{"role":"user","content":{"type":"text","text":"What's weather in Paris?"}}]}`,
		},
		offers: &resource{uri: "demo://resource/static/document/features.md", text: string(document)},
		rule:   `{"tools":"get-s?m"}`,
		asked:  call{name: "get-sum", arguments: `{"a":1,"b":2}`, content: "The sum of 1 and 2 is 3."},
		questions: []question{
			{
				call:    call{name: "trigger-elicitation-request", arguments: `{}`, content: declined},
				mode:    "form",
				message: "Please provide inputs for the following fields:",
				answers: []string{`{"action":"decline"}`},
			},
			{
				call: call{
					name: "trigger-url-elicitation", arguments: `{"url":"https://example.com/consent?a=1","message":"Agree?","elicitationId":"e1"}`,
					content: "✅ User completed the URL elicitation flow.\nElicitation ID: e1\nURL: https://example.com/consent?a=1\n\n\nRaw result: {\n  \"action\": \"accept\"\n}",
				},
				mode: "url", message: "Agree?", url: "https://example.com/consent?a=1",
				answers: []string{`{"action":"accept"}`},
			},
		},
		slow: func(mark string) (call, error) {
			return call{name: "trigger-long-running-operation", arguments: fmt.Sprintf(`{"duration":30,"steps":5,"mark":%q}`, mark)}, nil
		},
	}, nil
}

func filesystem(c commands, folder, stdin, _ string) (*server, error) {
	root := filepath.Join(folder, "files with spaces")
	if err := os.Mkdir(root, 0o700); err != nil {
		return nil, err
	}
	file, image, fresh := filepath.Join(root, "ä.txt"), filepath.Join(root, "dot.png"), filepath.Join(root, "new.txt")
	if err := os.WriteFile(file, []byte("line one\nline zwei ☃\n"), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(image, []byte("\x89PNG\r\n"), 0o600); err != nil {
		return nil, err
	}
	data := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n"))
	var pipes []pipe
	return &server{
		command: append(c.filesystem, root),
		env:     map[string]string{"KEEP_STDIN": stdin},
		tools: strings.Fields(`read_file read_text_file read_media_file read_multiple_files write_file edit_file
			create_directory list_directory list_directory_with_sizes directory_tree move_file search_files
			get_file_info list_allowed_directories`),
		calls: []call{
			{
				name: "read_text_file", arguments: fmt.Sprintf(`{"path":%q}`, file),
				content: "line one\nline zwei ☃\n", structured: `{"content":"line one\nline zwei ☃\n"}`,
			},
			{
				name: "read_media_file", arguments: fmt.Sprintf(`{"path":%q}`, image),
				content:    "[image omitted: image/png]",
				structured: `{"content":[{"type":"image","data":"` + data + `","mimeType":"image/png"}]}`,
				blocks:     `[{"type":"image","data":"` + data + `","mimeType":"image/png"}]`,
			},
		},
		rule: `{"unless":"readOnlyHint"}`,
		asked: call{
			name: "write_file", arguments: fmt.Sprintf(`{"path":%q,"content":"written"}`, fresh),
			content: "Successfully wrote to " + fresh, structured: fmt.Sprintf(`{"content":"Successfully wrote to %s"}`, fresh),
		},
		ran: func() bool {
			text, err := os.ReadFile(fresh)
			return err == nil && string(text) == "written"
		},
		slow: func(mark string) (call, error) {
			p := pipe(filepath.Join(root, mark))
			pipes = append(pipes, p)
			return call{name: "read_text_file", arguments: fmt.Sprintf(`{"path":%q}`, string(p))}, p.make()
		},
		release: func() {
			for _, p := range pipes {
				p.release()
			}
		},
	}, nil
}

func memory(c commands, folder, stdin, _ string) (*server, error) {
	graph := filepath.Join(folder, "graph.jsonl")
	const before, after = `{"type":"entity","name":"Ada","entityType":"person","observations":["likes engines"]}`,
		`{"type":"entity","name":"Bob","entityType":"cat","observations":[]}`
	if err := os.WriteFile(graph, []byte(before), 0o600); err != nil {
		return nil, err
	}
	const (
		ada  = "{\n  \"entities\": [\n    {\n      \"name\": \"Ada\",\n      \"entityType\": \"person\",\n      \"observations\": [\n        \"likes engines\"\n      ]\n    }\n  ],\n  \"relations\": []\n}"
		bobs = "[\n  {\n    \"name\": \"Bob\",\n    \"entityType\": \"cat\",\n    \"observations\": []\n  }\n]"
	)
	waiting, held := pipe(graph+".pipe"), false
	return &server{
		command: c.memory,
		env:     map[string]string{"KEEP_STDIN": stdin, "MEMORY_FILE_PATH": graph},
		tools: strings.Fields(`create_entities create_relations add_observations delete_entities delete_observations
			delete_relations read_graph search_nodes open_nodes`),
		calls: []call{{
			name: "open_nodes", arguments: `{"names":["Ada"]}`, content: ada,
			structured: `{"entities":[{"name":"Ada","entityType":"person","observations":["likes engines"]}],"relations":[]}`,
		}},
		rule: `{"except":["read_*","search_*","open_*"]}`,
		asked: call{
			name: "create_entities", arguments: `{"entities":[{"name":"Bob","entityType":"cat","observations":[]}]}`,
			content: bobs, structured: `{"entities":[{"name":"Bob","entityType":"cat","observations":[]}]}`,
		},
		ran: func() bool {
			text, err := os.ReadFile(graph)
			return err == nil && string(text) == before+"\n"+after
		},
		// The server reads its file anew for each call. A pipe in its place makes it
		// wait; what it had opened stays so when the file is back.
		slow: func(mark string) (call, error) {
			if err := os.Rename(graph, graph+".kept"); err != nil {
				return call{}, err
			}
			if err := waiting.make(); err != nil {
				return call{}, err
			}
			held = true
			return call{name: "search_nodes", arguments: fmt.Sprintf(`{"query":%q}`, mark)}, os.Rename(string(waiting), graph)
		},
		release: func() {
			if !held {
				return
			}
			held = false
			os.Rename(graph, string(waiting))
			os.Rename(graph+".kept", graph)
			waiting.release()
			os.Remove(string(waiting))
		},
	}, nil
}

// ours returns what the servers of conformance/matrix have in common. answers are
// what their tool ask gives for each answer of the user.
func ours(tools string, accepted, declined, cancelled string) *server {
	asks := func(content, problem string, answers ...string) question {
		return question{call: call{name: "ask", arguments: `{}`, content: content}, mode: "form", message: "Go on?", answers: answers, problem: problem}
	}
	return &server{
		env:   map[string]string{},
		tools: strings.Fields(tools),
		calls: []call{
			{name: "echo", arguments: `{"text":"ünï \u2028 \"q\" \\"}`, content: "ünï \u2028 \"q\" \\"},
			{name: "echo", arguments: `{"text":""}`},
		},
		prompt: &call{
			name: "greet", arguments: `{"name":"Ada"}`, content: "Say hello to Ada.",
			structured: `{"messages":[{"content":{"type":"text","text":"Say hello to Ada."},"role":"user"}]}`,
		},
		offers: &resource{uri: "memo://one", text: "remember the milk"},
		rule:   `{"tools":"gro?"}`,
		asked:  call{name: "grow", arguments: `{}`, content: "there is a new tool"},
		questions: []question{
			asks(accepted, "", `{"action":"accept","content":{"yes":true}}`),
			asks(declined, "", `{"action":"decline"}`),
			asks(cancelled, "", `{"action":"cancel"}`),
			asks(accepted, "yes", `{"action":"accept","content":{"yes":"maybe"}}`, `{"action":"accept","content":{"yes":true}}`),
		},
		slow: func(mark string) (call, error) {
			return call{name: "slow", arguments: fmt.Sprintf(`{"text":%q,"ms":30000}`, mark)}, nil
		},
	}
}

func python(c commands, _, stdin, era string) (*server, error) {
	s := ours("echo slow ledger grow ask", `{"yes":true,"times":3}`, "decline", "cancel")
	s.prompt.structured = strings.TrimSuffix(s.prompt.structured, "}") + `,"description":"Greets somebody."}`
	s.command = append(c.python, "--stdio", stdin)
	if era == legacy {
		s.pin = legacy // it speaks what it is asked in
	}
	return s, nil
}

func golang(c commands, _, stdin, era string) (*server, error) {
	s := ours("ask echo grow ledger slow", `{"action":"accept","content":{"times":3,"yes":true}}`, `{"action":"decline"}`, `{"action":"cancel"}`)
	s.command = append(c.golang, "--era", era, "--stdio", stdin)
	return s, nil
}
