package livetest

import (
	"os"
	"path/filepath"
	"testing"
)

// Recordings lists recordings of other machines: those of the repository, in
// testdata/recordings, and those of a larger collection, if there is one: in the
// folder perfdata of the one that KPROF_CORPUS names, else of shared/corpus beside
// the repository.
func Recordings(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repository(t), "testdata/recordings/*.data"))
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings in testdata: ", err)
	}
	return append(files, CorpusRecordings(t)...)
}

// CorpusRecordings are those of the larger collection alone; none where there is none.
func CorpusRecordings(t testing.TB) []string {
	t.Helper()
	dir := corpus(t)
	if dir == "" {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "perfdata", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s: %v", dir, err)
	}
	return files
}

// RecordCounts lists tables of how many records of each type the Recordings have,
// by the folder that the recordings are in. The first line of a table are its
// headings.
func RecordCounts(t testing.TB) map[string]string {
	t.Helper()
	own := filepath.Join(repository(t), "testdata/recordings")
	tables := map[string]string{own: filepath.Join(own, "EXPECTED.tsv")}
	if dir := corpus(t); dir != "" {
		tables[filepath.Join(dir, "perfdata")] = filepath.Join(dir, "EXPECTED.tsv")
	}
	return tables
}

// corpus is the folder of the larger collection, empty if there is none here.
func corpus(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("KPROF_CORPUS"); dir != "" {
		return dir
	}
	dir := filepath.Join(repository(t), "../shared/corpus")
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

// repository is its root, above the directory of the test.
func repository(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			t.Fatal("this test reads files of the repository, and runs outside of it")
		}
		dir = above
	}
}
