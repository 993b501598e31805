package symbolize

import "sync"

// cache makes each value once, however many ask for it at a time.
type cache[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]*cacheEntry[V]
}

type cacheEntry[V any] struct {
	once  sync.Once
	value V
	err   error
}

// get returns the value of key, which it makes if nobody has. make may be called for
// different keys at a time.
func (c *cache[K, V]) get(key K, make func() (V, error)) (V, error) {
	c.mu.Lock()
	e := c.entries[key]
	if e == nil {
		if c.entries == nil {
			c.entries = map[K]*cacheEntry[V]{}
		}
		e = &cacheEntry[V]{}
		c.entries[key] = e
	}
	c.mu.Unlock()
	e.once.Do(func() { e.value, e.err = make() })
	return e.value, e.err
}

func (c *cache[K, V]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = nil
}
