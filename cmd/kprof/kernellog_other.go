//go:build !linux

package main

import "errors"

func kernelLog() ([]byte, error) {
	return nil, errors.New("only Linux has one: give a file that dmesg was written to")
}
