package main

import (
	"os"
	"path/filepath"
	"testing"
)

// report writes a report as the suite does.
func report(t *testing.T, folder, name string, files map[string]string) {
	t.Helper()
	folder = filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReports(t *testing.T) {
	folder := t.TempDir()
	report(t, folder, "auth/2025-03-26-oauth-endpoint-fallback-2026-12-01T03-07-41-814Z", map[string]string{
		"checks.json": `[{"id":"a","name":"A","status":"FAILURE","errorMessage":"why","details":{"id":1}}]`,
		"stdout.txt":  "noise\n{\"ok\":true}\n",
		"stderr.txt":  "log",
	})
	report(t, folder, "json-schema-2020-12-preservation-2026-12-01T03-07-42-981Z", map[string]string{
		"checks.json": `[]`,
		"stdout.txt":  "",
		"stderr.txt":  "",
	})
	report(t, folder, "half-2026-12-01T03-07-42-981Z", map[string]string{"checks.json": `[`})
	reports, err := findReports(folder)
	if err != nil || len(reports) != 3 {
		t.Fatalf("%q, %v", reports, err)
	}
	var o outcome
	if err := o.read(reports["auth/2025-03-26-oauth-endpoint-fallback"]); err != nil {
		t.Fatal(err)
	}
	if len(o.checks) != 1 || o.checks[0] != (check{"a", "A", "FAILURE", "why"}) || o.driver == nil || !o.driver.OK || o.stderr != "log" {
		t.Errorf("%+v", o)
	}
	o = outcome{}
	if err := o.read(reports["json-schema-2020-12-preservation"]); err != nil || o.driver != nil {
		t.Errorf("%+v, %v", o, err)
	}
	if err := o.read(reports["half"]); err == nil {
		t.Error("half a report was read")
	}
}
