// Package redact keeps secrets out of everything that people and programs read.
//
// Three layers, the first two for those who write code, the last for what they
// forget: a Secret is a value that no verb, encoder or reflection prints; Text
// helpers (Escape, Cut, URL) build messages from parts that are safe to show;
// and a Scrubber removes every live secret, in every form it may have been
// written in, from text that came from elsewhere, such as a server's error body.
//
// A Scrubber is shared by the whole process and may be used from any goroutine.
// The package imports nothing of toolhost and starts no goroutine.
package redact
