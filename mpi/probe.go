package mpi

import (
	"context"
	"errors"
	"fmt"

	"github.com/exanet-mpi/exanet/mpi/internal/checking"
	"github.com/exanet-mpi/exanet/variants"
)

// Probing (thesis 3.12), and with matched.go MPI's matched probes.

// Probe waits for a message that a Recv with these arguments would take and
// describes it (MPI_Probe, thesis 3.12).
func (c *Comm) Probe(source, tag int) (Status, error) {
	_, st, err := c.await(context.Background(), "Probe", source, tag, false)
	return st, err
}

// ProbeContext is Probe that can be abandoned: then the error wraps that of ctx.
func (c *Comm) ProbeContext(ctx context.Context, source, tag int) (Status, error) {
	_, st, err := c.await(ctx, "ProbeContext", source, tag, false)
	return st, err
}

// Iprobe is Probe without waiting (MPI_Iprobe).
func (c *Comm) Iprobe(source, tag int) (found bool, st Status, err error) {
	_, found, st, err = c.peek("Iprobe", source, tag, false)
	return found, st, err
}

// look is a search for a message that has arrived.
type look struct {
	c           *Comm
	source, tag int
	extract     bool // take the message out of matching
	over        bool // found, or none can be relied upon to come
	m           *variants.Message
	st          Status
	err         error
}

// done looks unless it is over, with the lock held.
func (l *look) done() bool {
	if l.over {
		return true
	}
	ctx, src, tag := l.c.p2p, int32(l.source), int32(l.tag)
	if l.extract {
		l.m, l.over, l.err = l.c.rank.proto.Extract(ctx, src, tag)
		if l.over {
			l.st = fromProtocol(l.m.Status())
		}
	} else {
		var st variants.Status
		st, l.over, l.err = l.c.rank.proto.Probe(ctx, src, tag)
		l.st = fromProtocol(st)
	}
	l.over = l.over || l.err != nil
	return l.over
}

func (l *look) outcome(op string) error {
	if l.err == nil {
		return nil
	}
	err, do := l.err, ""
	if errors.Is(err, ErrProcFailed) {
		err, do = l.c.whyFailed(err, l.c.p2p, int32(l.source))
	}
	return l.c.fail(op, l.source, l.tag, noValue, err, do)
}

// await waits for a message, and extracts it if it is to.
func (c *Comm) await(ctx context.Context, op string, source, tag int, extract bool) (*Message, Status, error) {
	if err := c.checkProbe(op, source, tag); err != nil {
		return nil, Status{}, err
	}
	k := c.rank
	defer k.timed(op, 0).end()
	k.mu.Lock()
	defer k.mu.Unlock()
	l := look{c: c, source: source, tag: tag, extract: extract}
	if source == ProcNull || l.now(k.near.looks) {
		return l.found(op)
	}
	p := k.probing(source, tag)
	if ctx.Done() == nil {
		k.untilFound(l.done, c, op, p)
	} else {
		l = l.waitContext(ctx)
	}
	k.probed(p)
	return l.found(op)
}

// found ends a search that is over, with the lock held.
func (l *look) found(op string) (m *Message, st Status, err error) {
	if err := l.outcome(op); err != nil {
		return nil, Status{}, err
	}
	if st = l.st; l.source == ProcNull {
		st = nullStatus
	} else if l.c.rank.check != nil {
		st.bytes -= checking.CardSize
	}
	if l.extract {
		m = l.c.rank.found.take()
		m.c, m.m, m.st = l.c, l.m, st
		m.gone.Store(false)
	}
	return m, st, nil
}

// waitContext waits for the end of a search that can be abandoned.
func (l look) waitContext(ctx context.Context) look {
	l.c.rank.waitContext(ctx, l.done, func() {
		if !l.done() {
			l.over, l.err = true, context.Cause(ctx)
		}
	})
	return l
}

// peek is await without waiting.
func (c *Comm) peek(op string, source, tag int, extract bool) (m *Message, found bool, st Status, err error) {
	if err := c.checkProbe(op, source, tag); err != nil {
		return nil, false, Status{}, err
	}
	k := c.rank
	defer k.timed(op, 0).end()
	k.mu.Lock()
	defer k.mu.Unlock()
	l := look{c: c, source: source, tag: tag, extract: extract}
	if source != ProcNull && !l.now(1+k.near.looks/glance) && !k.Test(l.done) {
		return nil, false, Status{}, nil
	}
	m, st, err = l.found(op)
	return m, err == nil, st, err
}

// glance is the part of its looks for which a call looks that does not wait.
const glance = 4

// probe is a call that waits for a message, for those who ask.
type probe struct {
	source, tag int
	next        *probe
}

// probing notes that a call waits for a message, until probed.
func (k *rank) probing(source, tag int) *probe {
	p := k.spareProbes.take()
	*p = probe{source: source, tag: tag, next: k.probes}
	k.probes = p
	return p
}

func (k *rank) probed(p *probe) {
	k.probes = k.probes.without(p)
	p.next = nil
	k.spareProbes.put(p)
}

func (l *probe) without(p *probe) *probe {
	if l == p {
		return l.next
	}
	l.next = l.next.without(p)
	return l
}

func (l *probe) String() string {
	return fmt.Sprintf("probe %s: no message has arrived", l.from())
}

// from says what the call waits for.
func (l *probe) from() string {
	where, tag := fmt.Sprintf("from rank %d", l.source), fmt.Sprintf("tag %d", l.tag)
	if l.source == AnySource {
		where = "from any source"
	}
	if l.tag == AnyTag {
		tag = "any tag"
	}
	return where + ", " + tag
}

func (c *Comm) checkProbe(op string, source, tag int) error {
	if err := c.usable(op); err != nil {
		return err
	}
	return c.checkPeer(op, source, tag, noValue, true)
}
