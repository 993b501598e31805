package page

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// compress writes the data as the page inflates it.
func (d *pageData) compress(w io.Writer) error {
	z := gzip.NewWriter(w)
	if err := d.write(z); err != nil {
		return err
	}
	return z.Close()
}

// write writes the head and the columns.
func (d *pageData) write(w io.Writer) error {
	head, err := json.Marshal(d.head)
	if err != nil {
		return fmt.Errorf("encode the page's head: %w", err)
	}
	c := columnWriter{w: bufio.NewWriterSize(w, 1<<16)}
	c.put(uint64(len(head)))
	c.w.Write(head)
	d.writeTree(&c)
	d.writeRows(&c)
	for _, costs := range d.functions {
		c.put(uint64(len(costs)))
		for _, x := range costs {
			c.put(uint64(d.names.id(x.Name)))
			c.putSigned(x.Self)
			c.putSigned(x.Cum)
		}
	}
	d.writeTimes(&c)
	return c.w.Flush()
}

func (d *pageData) writeTree(c *columnWriter) {
	for _, callees := range d.callees {
		c.put(uint64(len(callees)))
		for _, f := range callees {
			c.put(uint64(f))
		}
	}
	depth := d.tree.Depth
	for i := 1; i < len(depth); i++ {
		c.put(uint64(depth[i-1] + 1 - depth[i]))
	}
	for _, rank := range d.ranks {
		c.put(uint64(rank))
	}
}

func (d *pageData) writeRows(c *columnWriter) {
	for i, e := range d.head.Events {
		rows := d.eventRows(uint32(i))
		last := uint32(0)
		for _, r := range rows {
			c.put(uint64(r.node - last))
			last = r.node
		}
		for _, r := range rows {
			c.put(uint64(r.labels))
		}
		for k, col := range e.Columns {
			if col.Factor != 0 {
				continue
			}
			for _, r := range rows {
				c.putSigned(d.values[r.value+uint32(k)])
			}
		}
	}
}
