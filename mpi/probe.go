package mpi

import (
	"errors"
	"fmt"
	"time"

	"github.com/exanet-mpi/exanet/variants"
)

// Probe waits for a message that a Recv with these arguments would take and
// describes it (MPI_Probe, thesis 3.12).
func (c *Comm) Probe(source, tag int) (Status, error) {
	if err := c.checkProbe("Probe", source, tag); err != nil {
		return Status{}, err
	}
	if source == ProcNull {
		return nullStatus, nil
	}
	k := c.rank
	if s := k.stats; s != nil {
		defer s.record("Probe", 0, time.Now())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var st variants.Status
	var found bool
	var err error
	p := &probe{source: source, tag: tag, next: k.probes}
	k.probes = p
	k.waitUntil(func() bool {
		st, found, err = k.proto.Probe(c.p2p, int32(source), int32(tag))
		return found || err != nil
	})
	k.probes = k.probes.without(p)
	if err != nil {
		return Status{}, c.probeError("Probe", source, tag, err)
	}
	return fromProtocol(st), nil
}

// probe is a call of Probe that waits, for those who ask.
type probe struct {
	source, tag int
	next        *probe
}

func (l *probe) without(p *probe) *probe {
	if l == p {
		return l.next
	}
	l.next = l.next.without(p)
	return l
}

func (l *probe) String() string {
	where, tag := fmt.Sprintf("from rank %d", l.source), fmt.Sprintf("tag %d", l.tag)
	if l.source == AnySource {
		where = "from any source"
	}
	if l.tag == AnyTag {
		tag = "any tag"
	}
	return fmt.Sprintf("probe %s, %s: no message has arrived", where, tag)
}

// Iprobe is Probe without waiting (MPI_Iprobe).
func (c *Comm) Iprobe(source, tag int) (found bool, st Status, err error) {
	if err := c.checkProbe("Iprobe", source, tag); err != nil {
		return false, Status{}, err
	}
	if source == ProcNull {
		return true, nullStatus, nil
	}
	k := c.rank
	if s := k.stats; s != nil {
		defer s.record("Iprobe", 0, time.Now())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	s, found, perr := k.proto.Probe(c.p2p, int32(source), int32(tag))
	if !found {
		k.tryPoll()
		s, found, perr = k.proto.Probe(c.p2p, int32(source), int32(tag))
	}
	k.leave()
	if perr != nil {
		return false, Status{}, c.probeError("Iprobe", source, tag, perr)
	}
	if !found {
		k.relaxIdle()
		return false, Status{}, nil
	}
	return true, fromProtocol(s), nil
}

func (c *Comm) probeError(op string, source, tag int, err error) error {
	do := ""
	if errors.Is(err, ErrProcFailed) {
		do = "see what the launcher says about it"
	}
	return c.fail(op, source, tag, noValue, err, do)
}

func (c *Comm) checkProbe(op string, source, tag int) error {
	if err := c.usable(op); err != nil {
		return err
	}
	return c.checkPeer(op, source, tag, noValue, true)
}
