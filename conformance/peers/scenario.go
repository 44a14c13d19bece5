package main

// A spec is one server: how it is started, and what its tools must give through
// toolhost. The drivers read it as JSON.
type spec struct {
	Name string `json:"name"`

	Echo       call `json:"echo"`
	Image      call `json:"image"`
	Structured call `json:"structured"`
	Link       call `json:"link"`
	Fails      call `json:"fails"` // Content is part of the error's text
	Slow       call `json:"slow"`  // a fraction of a second
	Endless    call `json:"endless"`

	// Progress is how many notifications Slow gives at least. A server that
	// answers by one JSON object has no room for them: 0.
	Progress int `json:"progress"`

	command []string
	modern  bool // it speaks 2026-07-28 alone
}

// A call is one call of a tool and the text that must come of it.
type call struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
	Content   string         `json:"content"`
}

type args = map[string]any

// specs returns the servers to try, given the commands that start them.
func specs(everything []string, gosdk string) []spec {
	list := []spec{{
		Name:       "everything",
		command:    everything,
		Echo:       call{"echo", args{"message": `hello "wörld" <&>`}, `Echo: hello "wörld" <&>`},
		Image:      call{"get-tiny-image", args{}, "Here's the image you requested:\n\n[image omitted: image/png]\n\nThe image above is the MCP logo."},
		Structured: call{"get-structured-content", args{"location": "Chicago"}, `{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}`},
		Link:       call{"get-resource-links", args{"count": 1}, "Here are 1 resource links to resources available in this server:\n\n[resource: demo://resource/dynamic/blob/1]"},
		Fails:      call{"get-sum", args{"a": "one", "b": 2}, "Invalid arguments for tool get-sum"},
		Slow:       call{"trigger-long-running-operation", args{"duration": 0.3, "steps": 3}, "Long running operation completed. Duration: 0.3 seconds, Steps: 3."},
		Endless:    call{"trigger-long-running-operation", args{"duration": 60, "steps": 600}, ""},
		Progress:   3,
	}}
	for _, variant := range []struct {
		name, era, answer string
		progress          int
	}{
		{"go-legacy-sse", "legacy", "sse", 5},
		{"go-legacy-json", "legacy", "json", 0},
		{"go-modern-sse", "modern", "sse", 5},
		{"go-modern-json", "modern", "json", 0},
	} {
		list = append(list, spec{
			Name:       variant.name,
			command:    []string{gosdk, "-era", variant.era, "-answer", variant.answer},
			modern:     variant.era == "modern",
			Echo:       call{"echo", args{"text": `hello "wörld" <&>`}, `hello "wörld" <&>`},
			Image:      call{"image", args{}, "before\n\n[image omitted: image/png]\n\nafter"},
			Structured: call{"structured", args{}, `{"temperature":21.50,"unit":"C","big":12345678901234567890}`},
			Link:       call{"link", args{}, "[resource: file:///notes.txt]"},
			Fails:      call{"fail", args{}, "this tool always fails"},
			Slow:       call{"slow", args{"ms": 300}, "slept 300 ms"},
			Endless:    call{"slow", args{"ms": 60000}, ""},
			Progress:   variant.progress,
		})
	}
	return list
}

// The steps that a driver performs on each server, in order, and once per child.
var (
	serverSteps = []string{
		"ready", "list", "list one namespace", "list one tool",
		"echo", "image", "structured", "resource link", "isError", "unknown tool",
		"long call", "progress", "cancel",
	}
	childSteps = []string{"construct", "bad entry", "close", "end of file", "one answer each"}
)

// A step is one line that a driver prints.
type step struct {
	Server string // "" for the steps of the child as a whole
	Step   string
	OK     bool
	Detail string
}

// expectedSteps returns the steps that a driver must print for some peers.
func expectedSteps(some []peer) []step {
	var steps []step
	for _, name := range childSteps {
		steps = append(steps, step{Step: name})
	}
	for _, p := range some {
		for _, name := range serverSteps {
			if name == "progress" && p.Progress == 0 {
				continue
			}
			steps = append(steps, step{Server: p.Name, Step: name})
		}
	}
	return steps
}
