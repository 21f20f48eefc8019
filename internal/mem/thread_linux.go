//go:build amd64 || arm64

package mem

// Thread is the address by which the thread that calls it has its own variables in C: no two have the same at a time.
func Thread() uint64
