package redact

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// typicalSecrets are 50 values as configurations hold them, made up.
func typicalSecrets() []string {
	list := []string{
		"Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
		"Basic dXNlcjpjb3JyZWN0LWhvcnNl", "token 6f1ed002ab5595859014ebf0951522d9",
		"postgres://app:Xk29-pQz@db.internal:5432/app?sslmode=require",
		"hunter2", "x7Kp", "s3cr3t", "P@ssw0rd!", "correct horse battery staple", "4711-0815",
		"production", "true", "8080", "localhost", "en_US.UTF-8", "debug",
		"-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIDf5z0sJm7S5Tn1Yp3\noAoGCCqGSM49AwEHoUQDQgAEu8\n-----END EC PRIVATE KEY-----\n",
	}
	for i := len(list); i < 50; i++ {
		sum := sha256.Sum256([]byte{byte(i)})
		switch i % 4 {
		case 0:
			list = append(list, "ghp_"+base64.RawURLEncoding.EncodeToString(sum[:27]))
		case 1:
			list = append(list, hex.EncodeToString(sum[:16]))
		case 2:
			list = append(list, "sk-proj-"+base64.StdEncoding.EncodeToString(sum[:30]))
		case 3:
			list = append(list, fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
		}
	}
	return list
}

// ordinaryText is size bytes as logs, errors and answers hold them: sentences,
// JSON, paths, addresses, numbers, hexadecimal and base64 of other things.
func ordinaryText(size int) string {
	vocabulary := strings.Fields(`the of and to in is that for it as was with be by on not he this are at from
		but have an they which one you were all her she there would their we him been has when who will no more
		if out so up said what its about than into them can only other time new some could these two may first then
		do any like my now over such our man me even most made after also did many off before must well back through
		years much where your way down should because long each just state people too mr how little good world make
		very year still see own work men day get here old life both between being under three never know same last
		another while us might great go come since against right came take used himself few house use during without
		again place american around however home small found mrs thought went say part once general high upon school
		every server token session request response header value secret password key error failed connection refused
		timeout retry tool call argument result content schema description production development debug warning user
		admin bearer basic authorization cookie default true false null localhost hunter pass word staple horse battery`)
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string { return vocabulary[r.IntN(len(vocabulary))] }
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	var out strings.Builder
	for out.Len() < size {
		switch r.IntN(8) {
		default:
			for range 12 {
				out.WriteString(word() + " ")
			}
			out.WriteString(".\n")
		case 1:
			fmt.Fprintf(&out, "{\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"%s_%s\",\"arguments\":{\"%s\":%v,\"%s\":null}}}\n", r.IntN(1e6), word(), word(), word(), r.IntN(2) == 0, word())
		case 2:
			fmt.Fprintf(&out, "time=2026-01-02T03:04:%02d.%03dZ level=INFO msg=\"%s %s\" server=%s url=https://%s.example.com:8443/v1/%s?%s=%d\n", r.IntN(60), r.IntN(1000), word(), word(), word(), word(), word(), word(), r.IntN(100))
		case 3:
			fmt.Fprintf(&out, "sha256:%x %s\n", random(32), base64.StdEncoding.EncodeToString(random(40)))
		case 4:
			fmt.Fprintf(&out, "\t/home/%s/%s-%s/%s.go:%d +0x%x\n", word(), word(), word(), word(), r.IntN(900), r.IntN(1<<20))
		}
	}
	return out.String()[:size]
}

func secretsOf(n int) *Scrubber {
	s := NewScrubber()
	switch {
	case n == 50:
		s.Add(typicalSecrets()...)
	default:
		for i := range n {
			sum := sha256.Sum256(fmt.Append(nil, i))
			s.Add("Bearer canary-" + base64.RawURLEncoding.EncodeToString(sum[:24]))
		}
	}
	s.Text("")
	return s
}

func BenchmarkText(b *testing.B) {
	text := ordinaryText(1 << 20)
	for _, n := range []int{0, 1, 50, 4096} {
		b.Run(fmt.Sprintf("%d secrets", n), func(b *testing.B) {
			s := secretsOf(n)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if s.Text(text) != text {
					b.Fatal("changed")
				}
			}
		})
	}
	// What makes it slowest: text of nothing but the heads of secrets.
	b.Run("4096 secrets, text of their heads", func(b *testing.B) {
		s := secretsOf(4096)
		text := strings.Repeat("Bearer canary-", 1<<20/14)
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			s.Text(text)
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	line := []byte(ordinaryText(1 << 10)[:200] + "\n")
	w := secretsOf(50).Writer(io.Discard)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		w.Write(line)
	}
}

func BenchmarkAdd(b *testing.B) {
	for b.Loop() {
		secretsOf(50)
	}
}

func BenchmarkEscape(b *testing.B) {
	text := ordinaryText(1 << 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Escape(text)
	}
}
