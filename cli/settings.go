package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/limit"
)

// settings are the flags of every command that runs packs.
type settings struct {
	limits limit.Table
	level  slog.Level
	format *logFormat
}

// newSettings returns the defaults: level is what is logged where no flag says.
func newSettings(level slog.Level) *settings {
	return &settings{level: level, format: logFormats[0]}
}

// register adds the flags to cmd.
func (s *settings) register(cmd *cobra.Command) {
	cmd.Flags().Var(limitFlag{s}, "limit", "change a limit; may be repeated (\"toolhost help limits\" lists them)")
	cmd.Flags().Var(levelFlag{s}, "log-level", "the least level that is logged: debug, info, warn or error")
	cmd.Flags().Var(formatFlag{s}, "log-format", "how the log is written to stderr: text or json")
}

// logger returns the log of a command with these settings.
func (a *app) logger(s *settings) *slog.Logger {
	return a.err.logger(a.scrub, s.format, s.level)
}

// connectTime is how long commands wait for servers unless told otherwise.
const connectTime = 30 * time.Second

// connection is the flags of every command that connects to the servers of an
// mcp.json file.
type connection struct {
	*settings
	config  string
	timeout time.Duration
}

func newConnection() *connection {
	// What is printed gives the reasons that the log would repeat.
	return &connection{settings: newSettings(slog.LevelError), timeout: connectTime}
}

func (c *connection) register(cmd *cobra.Command) {
	c.settings.register(cmd)
	cmd.Flags().StringVar(&c.config, "config", "", "the mcp.json `FILE`, or its mcpServers object; - for stdin")
	cmd.Flags().Var(timeFlag{&c.timeout}, "timeout", "how long to wait for the servers to connect")
}

// timeFlag is --timeout.
type timeFlag struct{ time *time.Duration }

func (f timeFlag) String() string {
	if f.time == nil { // pflag asks the zero value, to learn what a default is
		return ""
	}
	return f.time.String()
}

func (timeFlag) Type() string { return "TIME" }

func (f timeFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return errors.New("want a time above 0, as 30s or 2m")
	}
	*f.time = d
	return nil
}

// limitFlag is --limit NAME=VALUE.
type limitFlag struct{ *settings }

func (limitFlag) String() string { return "" }
func (limitFlag) Type() string   { return "NAME=VALUE" }

func (f limitFlag) Set(setting string) error {
	table, err := f.limits.With(setting)
	if err == nil {
		f.limits = table
	}
	return err
}

// levelFlag is --log-level.
type levelFlag struct{ *settings }

func (f levelFlag) String() string { return levelName(f.level) }
func (levelFlag) Type() string     { return "LEVEL" }

func (f levelFlag) Set(name string) error {
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if levelName(level) == name {
			f.level = level
			return nil
		}
	}
	return errors.New("want debug, info, warn or error")
}

func levelName(level slog.Level) string { return strings.ToLower(level.String()) }

// formatFlag is --log-format.
type formatFlag struct{ *settings }

func (f formatFlag) String() string { return f.format.name }
func (formatFlag) Type() string     { return "FORMAT" }

func (f formatFlag) Set(name string) error {
	for _, format := range logFormats {
		if format.name == name {
			f.format = format
			return nil
		}
	}
	return errors.New("want text or json")
}

// limitsTopic is the help topic that lists what --limit can change.
func limitsTopic() *cobra.Command {
	var text strings.Builder
	text.WriteString("Each limit is one number, changed by --limit NAME=VALUE. A limit that is hit\n" +
		"names itself in the error and fails only the smallest thing that hit it.\n\n")
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tDEFAULT\tRANGE\tAT THE LIMIT")
	for _, row := range limit.Rows() {
		bounds := "fixed"
		if row.Min != row.Max {
			bounds = row.Format(row.Min) + " to " + row.Format(row.Max)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", row.Text, row.Format(row.Default), bounds, row.Effect)
	}
	w.Flush()
	return &cobra.Command{Use: "limits", Short: "The limits and how to change them", Long: strings.TrimSpace(text.String())}
}
