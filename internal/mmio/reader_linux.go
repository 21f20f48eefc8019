package mmio

import (
	"fmt"

	"github.com/u-root/u-root/pkg/memio"
)

// Reader reads single registers of a file that has some: a device node, a PCI
// resource, or the memory of the machine at physical addresses, /dev/mem. It
// keeps nothing mapped.
type Reader struct{ m *memio.MMap }

// NewReader opens the file at path.
func NewReader(path string) (*Reader, error) {
	m, err := memio.NewMMap(path)
	if err != nil {
		return nil, openError("open", path, err)
	}
	return &Reader{m}, nil
}

// Load reads the register at an offset of the file, or a physical address.
func (r *Reader) Load(at int64) (uint64, error) {
	e := &Error{Op: "read", Path: r.m.Name(), Page: -1}
	if at%8 != 0 || at < 0 {
		e.Err, e.Cause, e.Do = ErrMisaligned, fmt.Errorf("address %#x", at), "give a multiple of 8"
		return 0, e
	}
	// The end of a regular file is known; beyond it is a bus error.
	if st, err := r.m.Stat(); err == nil && st.Mode().IsRegular() && at+8 > st.Size() {
		e.Err, e.Do = ErrSmall, "check the path and the address"
		e.Cause = fmt.Errorf("address %#x, but the file ends at %#x", at, st.Size())
		return 0, e
	}
	var v memio.Uint64
	if err := r.m.ReadAt(at, &v); err != nil {
		return 0, openError("map", r.m.Name(), err)
	}
	return uint64(v), nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.m.Close() }
