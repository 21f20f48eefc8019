//go:build !linux

package mmio

import "errors"

// Reader needs Linux.
type Reader struct{}

// NewReader always fails.
func NewReader(path string) (*Reader, error) {
	return nil, openError("open", path, errors.ErrUnsupported)
}

// Load is never called.
func (*Reader) Load(int64) (uint64, error) { return 0, errors.ErrUnsupported }

// Close is never called.
func (*Reader) Close() error { return nil }
