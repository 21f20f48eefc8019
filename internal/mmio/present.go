package mmio

import (
	"fmt"
	"os"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// A device with FlagPresent goes by the tables of the process and takes no page faults, as an
// SMMU without stalls: a page that the process has not touched, or that the kernel has taken
// away, is an error there. So the process keeps all its pages from the time that they exist,
// and makes those of a buffer exist before the device can come to it.
//
// Where there is no driver that would lead the device to those tables, the channel has
// registers for a context: pairs of a virtual and a physical address that only the tables of
// this process join.

// keep does for a new owner of a channel what the flag asks for, if it is there.
func (p *Page) keep() error {
	id := p.Reg(RegID).Load()
	if uint16(id>>16)&FlagPresent == 0 || uint32(id>>32) != KindChannel {
		return nil
	}
	p.Present = true
	fail := func(err error, do string) error {
		return &Error{Op: "attach", Path: p.Path, Page: p.Index, Err: ErrNoDevice, Cause: err, Do: do}
	}
	if err := sys.KeepPages(); err != nil {
		return fail(fmt.Errorf("the device takes no page faults, and pages cannot be kept: %w", err),
			"raise the limit of locked memory (ulimit -l unlimited)")
	}
	if !p.Claimed {
		return nil
	}
	pairs, err := sys.AddressPairs(Pairs)
	if err != nil {
		return fail(fmt.Errorf("no physical addresses for the device: %w", err), "run as root, or with a driver")
	}
	p.Reg(CtxOwner).Store(0)
	for i, pair := range pairs {
		p.Reg(CtxPairs + 16*i).Store(pair.Virtual)
		p.Reg(CtxPairs + 16*i + 8).Store(pair.Physical)
	}
	count := p.Reg(CtxCount)
	count.Store(count.Load() + 1)
	p.Reg(CtxOwner).Store(uint64(os.Getpid())) // release: the rest is there
	return nil
}

// leave ends the context of this process.
func (p *Page) leave() {
	if p.Present && p.Claimed {
		p.Reg(CtxOwner).CompareAndSwap(uint64(os.Getpid()), 0)
	}
}
