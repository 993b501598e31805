// Package render writes a stacks.Set in the forms that people and their scripts
// read: folded stacks, which it reads back too, and tables.
package render
