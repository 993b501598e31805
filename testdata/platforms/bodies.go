package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// parserFor parses what is in dir as it stands, and of the files of all other packages no more
// than who imports them can see: without the bodies of their functions, which take half of the
// time to check, and are somebody else's.
func parserFor(dir string) func(*token.FileSet, string, []byte) (*ast.File, error) {
	dir, err := filepath.Abs(dir)
	return func(fset *token.FileSet, name string, text []byte) (*ast.File, error) {
		if err != nil || strings.HasPrefix(name, dir+string(filepath.Separator)) {
			return parser.ParseFile(fset, name, text, parser.AllErrors|parser.ParseComments)
		}
		f, err := parser.ParseFile(fset, name, text, parser.AllErrors|parser.SkipObjectResolution)
		if err == nil {
			removeBodies(f)
		}
		return f, err
	}
}

// removeBodies removes the bodies of a file's functions, and the names of imports that were for
// these alone. Where it cannot tell what an import is called, all remains as it was.
func removeBodies(f *ast.File) {
	used := qualifiers(f)
	bodies := map[*ast.FuncDecl]*ast.BlockStmt{}
	for _, d := range f.Decls {
		// Generic functions must have a body.
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && fn.Type.TypeParams == nil {
			bodies[fn] = fn.Body
			fn.Body = nil
			if fn.Recv == nil && fn.Name.Name == "init" { // and so must this one
				fn.Body = &ast.BlockStmt{Lbrace: fn.End(), Rbrace: fn.End()}
			}
		}
	}
	left := qualifiers(f)
	var unused []*ast.ImportSpec
	for _, i := range f.Imports {
		switch name := importName(i); {
		case left[name] || i.Name != nil && (name == "_" || name == "."):
		case used[name]:
			unused = append(unused, i)
		default:
			for fn, body := range bodies {
				fn.Body = body
			}
			return
		}
	}
	for _, i := range unused {
		i.Name = &ast.Ident{Name: "_", NamePos: i.Pos()}
	}
}

// qualifiers are the names before a dot.
func qualifiers(f *ast.File) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				names[x.Name] = true
			}
		}
		return true
	})
	return names
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// importName is the name of an import: its own, or that which its path suggests.
func importName(i *ast.ImportSpec) string {
	if i.Name != nil {
		return i.Name.Name
	}
	name, _ := strconv.Unquote(i.Path.Value)
	if majorVersion.MatchString(path.Base(name)) {
		name = path.Dir(name)
	}
	return path.Base(name)
}
