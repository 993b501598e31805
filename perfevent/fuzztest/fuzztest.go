// Package fuzztest keeps the inputs of a fuzz target in one archive, and feeds the
// target with them.
//
// The inputs of FuzzX lie in testdata/fuzz/FuzzX.txtar beside its test: as text
// files of the format that go test -fuzz writes, one value a line, by the names that
// it gave them. An input that it finds lies in the folder testdata/fuzz/FuzzX, from
// where go test runs it, until Pack moves it into the archive.
package fuzztest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// dir is where go test keeps the inputs of a package's targets, a folder each.
const dir = "testdata/fuzz"

// Add adds the inputs in the archive of the target that calls it. Inputs are numbered
// in the order of their adding, so that "seed#N" of a failure is the Nth of the
// archive, from 0, when this is the target's first call.
func Add(f *testing.F) {
	f.Helper()
	inputs, err := read(filepath.Join(dir, f.Name()+".txtar"))
	if err != nil {
		f.Fatal(err)
	}
	for _, args := range inputs {
		f.Add(args...)
	}
}

// read returns the arguments of each input in an archive.
func read(name string) ([][]any, error) {
	a, err := txtar.ParseFile(name)
	if err != nil {
		return nil, err
	}
	var inputs [][]any
	for _, file := range a.Files {
		args, err := parse(file.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, file.Name, err)
		}
		inputs = append(inputs, args)
	}
	if len(inputs) == 0 {
		return nil, fmt.Errorf("%s: no inputs", name)
	}
	return inputs, nil
}

// Pack moves the inputs that go test -fuzz left in the folders testdata/fuzz/FuzzX of
// a package into the archives of their targets, and returns where each of them lies
// then: "testdata/fuzz/FuzzX.txtar: NAME". The same inputs make the same archive.
func Pack(pkg string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(pkg, dir))
	if os.IsNotExist(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var packed []string
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		folder := filepath.Join(pkg, dir, e.Name())
		names, err := packFolder(folder, folder+".txtar")
		if err != nil {
			return packed, err
		}
		packed = append(packed, names...)
		if err := os.RemoveAll(folder); err != nil {
			return packed, err
		}
	}
	return packed, nil
}

func packFolder(folder, archive string) ([]string, error) {
	a, err := txtar.ParseFile(archive)
	if os.IsNotExist(err) {
		a, err = &txtar.Archive{}, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var packed []string
	for _, e := range entries {
		name := filepath.Join(folder, e.Name())
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if _, err := parse(data); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := add(a, e.Name(), data); err != nil {
			return nil, fmt.Errorf("%s: %w", archive, err)
		}
		packed = append(packed, archive+": "+e.Name())
	}
	return packed, writeArchive(archive, a)
}

// add adds an input to an archive, unless it is there, in the order of names.
func add(a *txtar.Archive, name string, data []byte) error {
	i, found := slices.BinarySearchFunc(a.Files, name, func(f txtar.File, name string) int {
		return strings.Compare(f.Name, name)
	})
	if !found {
		a.Files = slices.Insert(a.Files, i, txtar.File{Name: name, Data: data})
	} else if !bytes.Equal(a.Files[i].Data, data) {
		return fmt.Errorf("%s is there with other values", name)
	}
	return nil
}

// writeArchive puts an archive in the place of an older one at once: whoever stops it
// loses neither.
func writeArchive(name string, a *txtar.Archive) error {
	text := txtar.Format(a)
	if back := txtar.Parse(text); !slices.EqualFunc(back.Files, a.Files, func(x, y txtar.File) bool {
		return x.Name == y.Name && bytes.Equal(x.Data, y.Data)
	}) {
		return &fs.PathError{Op: "pack", Path: name, Err: fmt.Errorf("an input reads as several")}
	}
	if err := os.WriteFile(name+"~", text, 0o666); err != nil {
		return err
	}
	return os.Rename(name+"~", name)
}
