package mcpclient

import (
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// listedVersions returns the versions that the refusal of one names: as
// data.supported, or in the words of its message, where servers write them that
// have no such member.
func listedVersions(refusal *ServerError) []string {
	if listed := stringsOf(rawjson.Members(refusal.Data).Get("supported")); len(listed) > 0 {
		return listed
	}
	var listed []string
	for _, rev := range revisions {
		if strings.Contains(refusal.Message, rev.Name) {
			listed = append(listed, rev.Name)
		}
	}
	return listed
}

// stringsOf returns the strings of a valid array and leaves its other items out.
func stringsOf(valid []byte) []string {
	var texts []string
	for _, item := range rawjson.Elements(valid) {
		if rawjson.KindOf(item) == rawjson.String {
			texts = append(texts, rawjson.Text(item))
		}
	}
	return texts
}

func contains(list []string, s string) bool { return slices.Contains(list, s) }

func revisionNames(revs []*Revision) string {
	names := make([]string, len(revs))
	for i, rev := range revs {
		names[i] = rev.Name
	}
	return strings.Join(names, ", ")
}

// knownVersions lists the names that protocolVersion may have in an entry.
func knownVersions() string { return revisionNames(revisions) }

// shownVersions shows versions that a server wrote. What does not look like one
// is not quoted: it may be anything.
func shownVersions(theirs []string) string {
	const most = 8
	shown := make([]string, 0, most+1)
	for i, version := range theirs {
		if i == most {
			shown = append(shown, strconv.Itoa(len(theirs)-most)+" more")
			break
		}
		if !plainVersion(version) {
			version = "an unreadable version"
		}
		shown = append(shown, version)
	}
	return strings.Join(shown, ", ")
}

func plainVersion(version string) bool {
	if version == "" || len(version) > 32 {
		return false
	}
	for _, c := range []byte(version) {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '-', c == '.':
		default:
			return false
		}
	}
	return true
}
