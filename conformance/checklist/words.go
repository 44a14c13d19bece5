package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// words are what is left of a statement. A word is a run of characters without a
// blank, or one JSON object, array or string.
type words string

// peek returns the next word without taking it, and whether it is JSON.
func (w *words) peek() (word string, isJSON bool, err error) {
	text := strings.TrimLeft(string(*w), " ")
	*w = words(text)
	if text == "" {
		return "", false, nil
	}
	if !strings.ContainsRune(`{["`, rune(text[0])) {
		word, _, _ = strings.Cut(text, " ")
		return word, false, nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		return "", false, fmt.Errorf("%.60s: %w", text, err)
	}
	return text[:decoder.InputOffset()], true, nil
}

// take takes the next word.
func (w *words) take() (word string, isJSON bool, err error) {
	word, isJSON, err = w.peek()
	*w = (*w)[len(word):]
	return word, isJSON, err
}

// name takes the next word as a name: bare, or a JSON string for one with blanks.
func (w *words) name() (string, error) {
	word, isJSON, err := w.take()
	if err != nil || !isJSON {
		return word, err
	}
	var name string
	err = json.Unmarshal([]byte(word), &name)
	return name, err
}

// value takes the next word if it is JSON; "" if it is not.
func (w *words) value() (string, error) {
	word, isJSON, err := w.peek()
	if err != nil || !isJSON {
		return "", err
	}
	*w = (*w)[len(word):]
	return word, nil
}

// word takes the next word if it is that one.
func (w *words) word(want string) bool {
	word, isJSON, err := w.peek()
	if err != nil || isJSON || word != want {
		return false
	}
	*w = (*w)[len(word):]
	return true
}

// number takes the next word if it is a positive number; fallback if it is not.
func (w *words) number(fallback int) int {
	word, isJSON, err := w.peek()
	var n int
	if err != nil || isJSON || word == "" || json.Unmarshal([]byte(word), &n) != nil || n < 0 {
		return fallback
	}
	*w = (*w)[len(word):]
	return n
}

// end returns an error if anything is left.
func (w *words) end() error {
	if rest := strings.TrimSpace(string(*w)); rest != "" {
		return fmt.Errorf("what is %.60q?", rest)
	}
	return nil
}
