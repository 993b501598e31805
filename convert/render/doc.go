// Package render writes a stacks.Set in the forms that people and their scripts
// read: folded stacks, tables.
package render
