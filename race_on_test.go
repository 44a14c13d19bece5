//go:build race

package main

// raceDetector builds the program as the tests are built.
const raceDetector = true
