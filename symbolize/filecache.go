package symbolize

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
)

// A FileCache keeps what Symbolizers have read of programs and libraries for those that come
// after them: see Options.Files. Files that are read when names are looked up, for their debug
// information, are not kept, nor what processes say of themselves. It may be used concurrently.
type FileCache struct {
	mu     sync.Mutex
	files  map[cachedKey]*cachedFile
	turn   int
	memory int // of all files, in bytes
	limit  int // of memory
}

// cachedKey is a file, with the options that what was read of it depends on.
type cachedKey struct {
	fileKey
	root, debugDirs, cache string
	demangle               Demangle
	callFrames, namesOnly  bool
}

type cachedFile struct {
	table  *fileTable
	turn   int // in which it was asked for last
	asked  int // how often it was
	memory int // in bytes
}

// maxCached bounds what is kept, in bytes: the tables of a desktop's programs take some tens of
// megabytes. An eighth of it is for what was asked for only once, a while ago, as of programs that
// are built, run and gone.
const maxCached = 256 << 20

// NewFileCache returns a FileCache that is empty. It keeps 256 MiB of tables at most.
func NewFileCache() *FileCache {
	return &FileCache{files: map[cachedKey]*cachedFile{}, limit: maxCached}
}

// cachedTurns is for how many turns a file is kept that nobody asks for: a program that runs
// once a minute is asked for in one of some periods.
const cachedTurns = 8

// Turn begins another turn. What nobody has asked for in the last eight is forgotten, so that
// what is kept grows with what runs and not with what ran.
func (c *FileCache) Turn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn++
	for key, f := range c.files {
		if f.turn < c.turn-cachedTurns {
			c.forget(key)
		}
	}
	c.fit()
}

// forget forgets a file. The caller holds mu.
func (c *FileCache) forget(key cachedKey) {
	if f := c.files[key]; f != nil {
		c.memory -= f.memory
		delete(c.files, key)
	}
}

// fit forgets files until the rest is within the limit: first those that nobody has asked for
// again, then what was asked for longest ago, and of these the largest. The caller holds mu.
func (c *FileCache) fit() {
	once := 0
	for _, f := range c.files {
		if f.asked == 0 {
			once += f.memory
		}
	}
	if c.memory <= c.limit && once <= c.limit/8 {
		return
	}
	keys := slices.SortedFunc(maps.Keys(c.files), func(a, b cachedKey) int {
		x, y := c.files[a], c.files[b]
		return cmp.Or(cmp.Compare(min(x.asked, 1), min(y.asked, 1)), cmp.Compare(x.turn, y.turn), cmp.Compare(y.memory, x.memory))
	})
	for _, key := range keys {
		f := c.files[key]
		gone := f.asked == 0 && f.turn < c.turn-1 && once > c.limit/8
		if c.memory <= c.limit && !gone {
			continue
		}
		if f.asked == 0 {
			once -= f.memory
		}
		c.forget(key)
	}
}

func cachedKeyOf(key fileKey, o *Options) cachedKey {
	return cachedKey{key, o.Root, strings.Join(o.DebugDirs, "\x00"), o.BuildIDCache, o.Demangle, o.CallFrames, o.NamesOnly}
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
	f.asked++
	return f.table
}

// put notes what was read of a file, nil for nothing. What a server may have another time is
// not noted.
func (c *FileCache) put(key fileKey, o *Options, t *fileTable) {
	if c == nil || t == nil || t.file == nil || o.debug() || t.why != nil && len(o.DebuginfodURLs) > 0 {
		return
	}
	f := &cachedFile{table: t, turn: c.turn, memory: t.file.Memory() + t.frames.Memory()}
	at := cachedKeyOf(key, o)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(at)
	c.files[at] = f
	c.memory += f.memory
	c.fit()
}
