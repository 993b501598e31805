package symbolize

import (
	"maps"
	"strings"
	"sync"
)

// A FileCache keeps what Symbolizers have read of programs and libraries for those that come
// after them: see Options.Files. Files that are read when names are looked up, for their debug
// information, are not kept, nor what processes say of themselves. It may be used concurrently.
type FileCache struct {
	mu    sync.Mutex
	files map[cachedKey]*cachedFile
	turn  int
}

// cachedKey is a file, with the options that what was read of it depends on.
type cachedKey struct {
	fileKey
	root, debugDirs       string
	demangle              Demangle
	callFrames, namesOnly bool
}

type cachedFile struct {
	table *fileTable
	turn  int // in which it was asked for last
}

// NewFileCache returns a FileCache that is empty.
func NewFileCache() *FileCache { return &FileCache{files: map[cachedKey]*cachedFile{}} }

// cachedTurns is for how many turns a file is kept that nobody asks for: a program that runs
// once a minute is asked for in one of some periods.
const cachedTurns = 8

// Turn begins another turn. What nobody has asked for in the last eight is forgotten, so that
// what is kept grows with what runs and not with what ran.
func (c *FileCache) Turn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn++
	maps.DeleteFunc(c.files, func(_ cachedKey, f *cachedFile) bool { return f.turn < c.turn-cachedTurns })
}

func cachedKeyOf(key fileKey, o *Options) cachedKey {
	return cachedKey{key, o.Root, strings.Join(o.DebugDirs, "\x00"), o.Demangle, o.CallFrames, o.NamesOnly}
}

// get returns what was read of a file, nil if it is not known.
func (c *FileCache) get(key fileKey, o *Options) *fileTable {
	if c == nil || o.debug() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.files[cachedKeyOf(key, o)]
	if f == nil {
		return nil
	}
	f.turn = c.turn
	return f.table
}

// put notes what was read of a file, nil for nothing. What a server may have another time is
// not noted.
func (c *FileCache) put(key fileKey, o *Options, t *fileTable) {
	if c == nil || t == nil || t.file == nil || o.debug() || t.why != nil && len(o.DebuginfodURLs) > 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files[cachedKeyOf(key, o)] = &cachedFile{t, c.turn}
}
