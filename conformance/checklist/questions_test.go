package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

// puts asks a question and returns where its answer comes.
func puts(q *questions, method, params string) <-chan string {
	answer := make(chan string, 1)
	go func() { answer <- q.take(method, json.RawMessage(params)) }()
	return answer
}

func TestQuestionsAreTakenByWhatTheyAsk(t *testing.T) {
	q := newQuestions()
	one, two := puts(q, "elicit", `{"message":"one"}`), puts(q, "elicit", `{"message":"two"}`)
	for _, step := range []struct {
		matcher, answer string
		from            <-chan string
	}{{`{"message":"two"}`, `{"b":2}`, two}, {"", `{"a":1}`, one}} {
		if err := q.await(t.Context(), "elicit", step.matcher); err != nil {
			t.Fatal(err)
		}
		if err := q.answer(step.answer); err != nil {
			t.Fatal(err)
		}
		if got := <-step.from; got != step.answer {
			t.Errorf("%s: got %s", step.matcher, got)
		}
	}
	if err := q.answer(`{}`); err == nil {
		t.Error("an answer to no question was taken")
	}
	if left := q.unexpected(); left != nil {
		t.Errorf("left: %q", left)
	}
}

func TestQuestionsThatNobodyTakes(t *testing.T) {
	q := newQuestions()
	lost := puts(q, "approve", `{"tool":{}}`)
	over, cancel := context.WithCancel(t.Context())
	for err := error(nil); err == nil || !strings.Contains(err.Error(), "it was {"); {
		ctx, end := context.WithTimeout(over, shortStepTime/100)
		err = q.await(ctx, "approve", `{"tool":1}`)
		end()
		if err == nil {
			t.Fatal("another question was taken")
		}
	}
	cancel()
	if err := q.await(over, "elicit", ""); err == nil || !strings.Contains(err.Error(), "no such question") {
		t.Errorf("got %v", err)
	}
	if left := q.unexpected(); len(left) != 1 || left[0] != `approve {"tool":{}}` {
		t.Errorf("left: %q", left)
	}
	q.answerAll("approve", `{"approved":true}`)
	for _, answer := range []<-chan string{lost, puts(q, "approve", `{}`)} {
		if got := <-answer; got != `{"approved":true}` {
			t.Errorf("got %s", got)
		}
	}
	open := puts(q, "open", `{}`)
	q.stop()
	if got := <-open; got != "" {
		t.Errorf("an answer after the end: %s", got)
	}
}
