package mmio

import (
	"errors"
	"fmt"
	"os"
)

// Block says where an array of interfaces is: a device node or any file that
// can be mapped, and the offset of the first page in it.
type Block struct {
	Path   string
	Offset int64
}

// Page is an interface that this process holds.
type Page struct {
	Region
	Path  string
	Node  uint16
	PDID  uint32
	Index int
	Units int // windows, slots or descriptors

	// Claimed: there is no driver, the page was taken by compare-and-swap.
	Claimed bool

	// Present: the device takes no page faults, see sys.Populate and sys.PopulateWrite.
	Present bool

	// Pinned is the only memory that an RDMA channel reaches, nil: all of the process's.
	Pinned *Pinned
}

// CheckID says what is wrong with the ID register of a block that is to be of a kind.
func CheckID(b Block, id uint64, kind uint32) error {
	e := &Error{Op: "open", Path: b.Path, Page: -1, Cause: fmt.Errorf("the ID register at %#x is %#x", b.Offset, id)}
	switch {
	case id == ^uint64(0):
		e.Err, e.Do = ErrKind, "switch the device on: memory that is off reads so (write 1 to enable of a PCI device)"
	case uint32(id>>32) != kind:
		e.Err, e.Do = ErrKind, fmt.Sprintf("check the path and the offset: it is to be %#x", ID(kind, 0))
	case uint16(id) != Version:
		e.Err, e.Do = ErrVersion, fmt.Sprintf("use hardware of version %d, or the software for that one", Version)
	default:
		return nil
	}
	return e
}

// Claim maps an interface of a block for this process. A driver has chosen
// the page when the node was opened and has written OWNER; where there is
// none (FlagClaim) the first free page with the protection ID is taken. pdid 0
// asks for any.
func Claim(b Block, kind uint32, pdid uint32) (*Page, error) {
	fail := func(page int, sentinel, cause error, do string) (*Page, error) {
		return nil, &Error{Op: "attach", Path: b.Path, Page: page, PDID: pdid, Err: sentinel, Cause: cause, Do: do}
	}
	// One open file throughout: with a driver, it is what the page belongs to.
	f, err := Open(b.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head, err := Map(f, b.Offset, PageSize)
	if err != nil {
		return nil, err
	}
	h, err := ReadHeader(b, head, kind)
	_ = head.Close()
	if err != nil {
		return nil, err
	}
	count, stride := int(h.Count), int(h.Stride)
	mapped := func(at int64) (Region, error) {
		r, err := Map(f, at, stride)
		if err != nil {
			return Region{}, err
		}
		here := Block{b.Path, at}
		other, err := ReadHeader(here, r, kind)
		if err == nil {
			err = h.Differs(here, other)
		}
		if err != nil {
			_ = r.Close()
		}
		return r, err
	}

	pid := uint64(os.Getpid())
	if !h.Claims() {
		r, err := mapped(b.Offset)
		if err != nil {
			return nil, err
		}
		p := page(b.Path, r)
		switch owner := r.Reg(RegOwner).Load(); {
		case owner != pid:
			err = fmt.Errorf("OWNER is process %d", owner)
			_ = r.Close()
			return fail(p.Index, ErrBusy, err, "open the node in the process that uses it")
		case pdid != 0 && p.PDID != pdid:
			err = fmt.Errorf("the driver assigned %d", p.PDID)
			_ = r.Close()
			return fail(p.Index, ErrProtection, err, "start the process in its job's protection group")
		}
		return p.complete(f, b.Offset)
	}

	seen := false
	for i := range count {
		at := b.Offset + int64(i)*int64(stride)
		r, err := mapped(at)
		if err != nil {
			return nil, err
		}
		p := page(b.Path, r)
		if pdid == 0 || p.PDID == pdid {
			seen = true
			if r.Reg(RegOwner).CompareAndSwap(0, pid) {
				p.Claimed = true
				return p.complete(f, at)
			}
		}
		_ = r.Close()
	}
	if !seen {
		return fail(-1, ErrProtection, fmt.Errorf("none of %d pages has it", count),
			"use a protection ID that the device was set up with")
	}
	return fail(-1, ErrExhausted, fmt.Errorf("%d pages in the block", count),
		"end what else uses the device, or start fewer processes")
}

// complete maps what else belongs to a page, which is at an offset of the file, and does what
// its flags ask for.
func (p *Page) complete(f *os.File, at int64) (*Page, error) {
	err := p.pin(f, at)
	if err == nil {
		err = p.keep()
	}
	if err != nil {
		return nil, errors.Join(err, p.Release())
	}
	return p, nil
}

func page(path string, r Region) *Page {
	return &Page{
		Region: r,
		Path:   path,
		Node:   uint16(r.Reg(RegNode).Load()),
		PDID:   uint32(r.Reg(RegPDID).Load()),
		Index:  int(r.Reg(RegIndex).Load()),
		Units:  int(r.Reg(RegUnits).Load()),
	}
}

// Release gives the page back and unmaps it.
func (p *Page) Release() error {
	p.leave()
	if p.Claimed {
		p.Reg(RegOwner).CompareAndSwap(uint64(os.Getpid()), 0)
	}
	return errors.Join(p.unpin(), p.Close())
}
