package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"testing"

	"github.com/toolhost/toolhost/spec"
	"github.com/toolhost/toolhost/spec/speccheck"
)

// TestVectors writes each vector of the protocol to a real child, closes its
// stdin, and holds what it wrote against what must come.
func TestVectors(t *testing.T) {
	vectors, err := speccheck.Vectors()
	if err != nil {
		t.Fatal(err)
	}
	if len(vectors) == 0 {
		t.Fatal("the protocol has no vectors")
	}
	check, err := speccheck.New()
	if err != nil {
		t.Fatal(err)
	}
	framings := map[string]int{}
	for _, v := range vectors {
		framings[v.Framing]++
		t.Run(fmt.Sprintf("%s:%d %s", v.File, v.Line, v.Name), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			var stdout, stderr bytes.Buffer
			cmd := exec.CommandContext(ctx, binary(t), "serve")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(v.In), &stdout, &stderr
			if err := cmd.Run(); err != nil {
				t.Errorf("the child ended with %v\n%s", err, &stderr)
			}
			messages, err := speccheck.Split(v.Framing, stdout.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			for _, message := range messages {
				if err := check.Message(spec.ChildToHost, message, ""); err != nil {
					t.Errorf("%v\n%.500s", err, message)
				}
			}
			if err := v.Compare(messages); err != nil {
				t.Error(err)
			}
		})
	}
	for _, framing := range []string{speccheck.FramingNewline, speccheck.FramingLSP} {
		if framings[framing] == 0 {
			t.Errorf("no vector has %s framing", framing)
		}
	}
}
