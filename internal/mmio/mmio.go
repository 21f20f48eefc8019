// Package mmio maps pages of registers into the process and gives typed
// access to them. The device wrappers sit on it from above, the software
// device of emu/regs works on the same pages from the other side; both take
// the offsets of registers from here. docs/registers.md is the reference.
//
//	Region   mapped memory, by whatever file: device node or memory file
//	Header   what the interfaces of a block say of themselves
//	Page     an interface of a block that this process holds (Claim)
//	Reader   single registers of a file, without holding anything
//	Reg      one register, loaded with acquire and stored with release order
//
// Data is moved in whole aligned 64-bit words, since that is all that device
// memory takes: Words, not copy.
package mmio

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/exanet-mpi/exanet/internal/mem"
	"golang.org/x/sys/unix"
)

// Reg is a 64-bit register.
type Reg struct{ p *uint64 }

// Load reads the register; accesses after it in program order stay after it.
func (r Reg) Load() uint64 { return atomic.LoadUint64(r.p) }

// Store writes the register; accesses before it stay before it.
func (r Reg) Store(v uint64) { mem.Publish(r.p, v) }

// CompareAndSwap is for words in ordinary shared memory alone: device memory
// need not support it.
func (r Reg) CompareAndSwap(old, new uint64) bool { return atomic.CompareAndSwapUint64(r.p, old, new) }

// Region is mapped memory, valid until Close.
type Region struct{ b []byte }

// Open opens a device node or a file that stands for one.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_SYNC, 0)
	if err != nil {
		return nil, openError("open", path, err)
	}
	return f, nil
}

// Map maps size bytes of a file from offset, which must be a multiple of the
// page size, for reading and writing by all who map it. The mapping outlives
// the file's being closed.
func Map(f *os.File, offset int64, size int) (Region, error) {
	e := &Error{Op: "map", Path: f.Name(), Page: -1}
	if offset%PageSize != 0 || offset < 0 {
		e.Err, e.Cause, e.Do = ErrMisaligned, fmt.Errorf("offset %#x", offset), "give a multiple of 4096"
		return Region{}, e
	}
	// The end of a regular file is known; touching pages beyond it would be
	// a bus error later.
	if st, err := f.Stat(); err == nil && st.Mode().IsRegular() && offset > st.Size()-int64(size) {
		e.Err, e.Do = ErrSmall, "check the path and the offset of the block"
		e.Cause = fmt.Errorf("%d bytes at %#x, but the file ends at %#x", size, offset, st.Size())
		return Region{}, e
	}
	b, err := unix.Mmap(int(f.Fd()), offset, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	switch {
	case errors.Is(err, unix.EBUSY), errors.Is(err, unix.ENOSPC):
		e.Err, e.Cause, e.Do = ErrExhausted, err, "end a process that uses the device"
		return Region{}, e
	case err != nil:
		return Region{}, openError("map", f.Name(), err)
	}
	return Region{b}, nil
}

// Close unmaps the region.
func (r Region) Close() error { return unix.Munmap(r.b) }

// Reg returns the register at a byte offset that is a multiple of 8.
func (r Region) Reg(off int) Reg { return Reg{&r.Words(off, 1)[0]} }

// Words returns n words from a byte offset that is a multiple of 8, for plain
// access ordered by registers around it.
func (r Region) Words(off, n int) []uint64 { return mem.Slice[uint64](r.b[off : off+8*n]) }

// Bytes is the memory, if it is memory and no registers.
func (r Region) Bytes() []byte { return r.b }

// Sub returns size bytes of the region from off.
func (r Region) Sub(off, size int) Region { return Region{r.b[off : off+size : off+size]} }

// openError says what a failed open or mmap means, and what to do about it.
func openError(op, path string, err error) error {
	e := &Error{Op: op, Path: path, Page: -1, Err: ErrNoDevice, Cause: err, Do: "see what the kernel says (dmesg)"}
	var errno unix.Errno
	if errors.As(err, &errno) {
		e.Cause = errno // without the path, which the error has already
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Err, e.Do = ErrNotThere, "check the path (exanet device list shows what is there); a driver makes its nodes "+
			"when it is loaded"
	case op == "open" && (errno == unix.ENXIO || errno == unix.ENODEV):
		e.Err, e.Do = ErrNotThere, "load the driver that the node belongs to"
	case errno == unix.EISDIR:
		e.Err, e.Do = ErrKind, "name the file in it, as resource2 of a PCI device"
	case op == "open" && errors.Is(err, fs.ErrPermission):
		e.Err, e.Do = ErrPermission, "give this user read and write access"
	case errors.Is(err, fs.ErrPermission):
		e.Err, e.Do = ErrPermission, "name the node of a driver: in /dev/mem the kernel hides what drivers have "+
			"(CONFIG_STRICT_DEVMEM)"
	case op == "map" && errno == unix.EINVAL: // of a device node, which knows its size
		e.Err, e.Do = ErrSmall, "check the path and the offset of the block"
	case op == "map" && errno == unix.ENODEV:
		e.Err, e.Do = ErrKind, "name a file that can be mapped: a device node, a PCI resource or a register file"
	}
	return e
}
