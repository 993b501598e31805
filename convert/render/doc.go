// Package render writes a stacks.Set in the forms that people and their scripts
// read: folded stacks, which it reads back too, tables, flame graphs and what other
// viewers open.
package render
