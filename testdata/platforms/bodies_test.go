package main

import (
	"go/format"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestRemoveBodies: what remains of a file has types, and imports no name that it does not use.
func TestRemoveBodies(t *testing.T) {
	const imports = `package p

import (
	"fmt"
	"io"
	r "math/rand/v2"
	"os"
	_ "unsafe"

`
	const rest = `)

var all = func() []string { return os.Args }

func init()

func F(w io.Writer)

func G[T any](x T) { println(x) }
`
	const with = `
func init() { r.Int() }

func F(w io.Writer) { fmt.Fprint(w, v.X) }

func G[T any](x T) { println(x) }
`
	for _, x := range []struct{ last, want string }{
		{`"example.org/v/v2"`, imports + "\t_ \"example.org/v/v2\"\n" + rest},
		{`v "example.org/other"`, imports + "\t_ \"example.org/other\"\n" + rest},
		{`"example.org/other"`, ""}, // that it is called v nobody knows
	} {
		text := imports + "\t" + x.last + "\n)\n\nvar all = func() []string { return os.Args }\n" + with
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "p.go", text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		removeBodies(f)
		var got strings.Builder
		if err := format.Node(&got, fset, f); err != nil {
			t.Fatal(err)
		}
		want := text
		if x.want != "" {
			want = strings.NewReplacer("\t\"fmt\"", "\t_ \"fmt\"", "\tr \"math", "\t_ \"math", "func init()\n", "func init() {}\n").Replace(x.want)
		}
		if got.String() != want {
			t.Errorf("%s:\n%s\nwant\n%s", x.last, &got, want)
		}
	}
}
