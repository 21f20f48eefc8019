package world

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/readbased"
	"github.com/exanet-mpi/exanet/variants/ticket"
)

// faulty is a protocol that does one thing wrong, where a hook says so.
type faulty struct {
	variants.Protocol
	dev   Device
	reqs  []*variants.Request
	after func(*faulty)                    // after every message and notification
	send  func(*faulty, *variants.Request) // instead of PostSend
	hooks
}

// hooks are what a fault replaces; what is nil is as it should be.
type hooks struct {
	deliver  func(*faulty, packetizer.Header, []byte)
	needs    func() variants.Needs
	progress func() bool
	waiting  func(func(string))
	probe    func() (variants.Status, bool, error)
	failed   func()
	cancel   func()
}

func (p *faulty) PostRecv(r *variants.Request) {
	p.reqs = append(p.reqs, r)
	p.Protocol.PostRecv(r)
}

func (p *faulty) TrySend(ctx *variants.Context, dst, tag int32, buf []byte) bool {
	return p.send == nil && p.Protocol.TrySend(ctx, dst, tag, buf)
}

func (p *faulty) PostSend(r *variants.Request) {
	if p.send != nil {
		p.send(p, r)
		return
	}
	p.Protocol.PostSend(r)
}

func (p *faulty) Deliver(h packetizer.Header, payload []byte) {
	if p.deliver != nil {
		p.deliver(p, h, payload)
	} else {
		p.Protocol.Deliver(h, payload)
	}
	if p.after != nil {
		p.after(p)
	}
}

func (p *faulty) Notified(slot int, n rdmaeng.Notification) {
	p.Protocol.Notified(slot, n)
	if p.after != nil {
		p.after(p)
	}
}

func (p *faulty) Needs() variants.Needs {
	if p.needs != nil {
		return p.needs()
	}
	return p.Protocol.Needs()
}

func (p *faulty) Progress() bool {
	if p.progress != nil {
		return p.progress()
	}
	return p.Protocol.Progress()
}

func (p *faulty) Waiting(f func(string)) {
	p.Protocol.Waiting(f)
	if p.waiting != nil {
		p.waiting(f)
	}
}

func (p *faulty) Probe(ctx *variants.Context, src, tag int32) (variants.Status, bool, error) {
	if p.probe != nil {
		return p.probe()
	}
	return p.Protocol.Probe(ctx, src, tag)
}

func (p *faulty) PeerFailed(world int) {
	if p.failed == nil {
		p.Protocol.PeerFailed(world)
	}
}

func (p *faulty) Cancel(r *variants.Request) {
	if p.cancel == nil {
		p.Protocol.Cancel(r)
	}
}

// drive chooses the first action until there is none, and closes the world.
func drive(w *World) *Violation {
	var acts []Action
	for w.Violation() == nil {
		if acts = w.Enabled(acts[:0]); len(acts) == 0 {
			w.Settled()
			if w.Violation() == nil {
				w.Close()
			}
			break
		}
		w.Do(acts[0])
	}
	return w.Violation()
}

func isend(size int) Op  { return Op{Kind: Send, Peer: 1, Tag: 1, Size: size} }
func issend(size int) Op { return Op{Kind: Send, Peer: 1, Tag: 1, Size: size, Sync: true} }
func irecv(size int) Op  { return Op{Kind: Recv, Peer: 0, Tag: 1, Size: size} }

// done returns a hook that changes the first receive, once it is done.
func done(f func(*variants.Request)) func(*faulty) {
	return func(p *faulty) {
		if len(p.reqs) > 0 && p.reqs[0].Done {
			f(p.reqs[0])
		}
	}
}

// Each check fires when a protocol does what it forbids, and none does when it
// does not.
func TestChecksFire(t *testing.T) {
	eager, long := Program{{isend(8)}, {irecv(16)}}, Program{{isend(48)}, {irecv(50)}}
	wrong := errors.New("wrong")
	for _, c := range []struct {
		name, want string
		program    Program
		fault      func(*faulty)
	}{
		{"nothing", "", eager, func(*faulty) {}},
		{"nothing, long", "", long, func(*faulty) {}},
		{"status with another tag", "completes with source 0 and tag 9", eager,
			func(p *faulty) { p.after = done(func(r *variants.Request) { r.Status.Tag = 9 }) }},
		{"status with another size", "which nobody sent", eager,
			func(p *faulty) { p.after = done(func(r *variants.Request) { r.Status.Size = 9 }) }},
		{"other data", "does not hold the message", eager,
			func(p *faulty) { p.after = done(func(r *variants.Request) { r.Buf[0]++ }) }},
		{"more data than the message", "does not hold the message", eager,
			func(p *faulty) { p.after = done(func(r *variants.Request) { r.Buf[8]++ }) }},
		{"truncated without an error", "ends with the error <nil>", Program{{isend(8)}, {irecv(3)}},
			func(p *faulty) { p.after = done(func(r *variants.Request) { r.Err = nil }) }},
		{"an error for nothing", "ends with the error wrong", eager,
			func(p *faulty) { p.after = done(func(r *variants.Request) { r.Err = wrong }) }},
		{"cancelled for nothing", "nobody asked for that", eager,
			func(p *faulty) { p.after = done(func(r *variants.Request) { r.Status.Cancelled = true }) }},
		{"status changes later", "completes a second time", Program{{isend(8), isend(8)}, {irecv(16), irecv(16)}},
			func(p *faulty) {
				n := 0
				p.after = done(func(r *variants.Request) { r.Status.Size = 8 + n/2; n += 2 })
			}},
		{"buffer changes later", "written after its completion", Program{{isend(8), isend(8)}, {irecv(16), irecv(16)}},
			func(p *faulty) {
				n := byte(0)
				p.after = done(func(r *variants.Request) { r.Buf[0] += n; n++ })
			}},
		{"send fails", "ends with an error: wrong", eager,
			func(p *faulty) { p.send = func(_ *faulty, r *variants.Request) { r.Err, r.Done = wrong, true } }},
		{"synchronous send completes at once", "no receive is posted for it", Program{{issend(8)}},
			func(p *faulty) { p.send = func(_ *faulty, r *variants.Request) { r.Done = true } }},
		{"message too long for the device", "is given to the device", Program{{isend(41)}},
			func(p *faulty) {
				p.send = func(p *faulty, r *variants.Request) { p.dev.TrySend(1, packetizer.Header{}, r.Buf) }
			}},
		{"write to nowhere", "not exposed any more", Program{{isend(48)}},
			func(p *faulty) {
				p.send = func(p *faulty, r *variants.Request) {
					r.Transfer = rdmaeng.Transfer{To: 1, Src: r.Buf}
					p.dev.Start(&r.Transfer)
				}
			}},
		{"transfer that was not started", "that was not started", Program{{isend(48)}},
			func(p *faulty) { p.send = func(p *faulty, r *variants.Request) { _, _ = p.dev.Test(&r.Transfer) } }},
		{"withdrawn twice", "withdrawn twice", Program{{isend(48)}},
			func(p *faulty) {
				p.send = func(p *faulty, r *variants.Request) {
					slot, _ := p.dev.Expose(r.Buf)
					p.dev.Withdraw(slot)
					p.dev.Withdraw(slot)
				}
			}},
		{"send done before its data has left", "takes its data from the buffer of a send that has completed", long,
			func(p *faulty) {
				send := p.Protocol.PostSend
				var r *variants.Request
				p.send = func(_ *faulty, q *variants.Request) { r = q; send(q) }
				p.after = func(*faulty) { // the CTS has been answered by a write
					if r != nil && len(r.Transfer.Src) > 0 {
						r.Done = true
					}
				}
			}},
		{"messages are lost", "match, but nothing is in flight", long,
			func(p *faulty) { p.deliver = func(*faulty, packetizer.Header, []byte) {} }},
		{"an eager message is lost", "match, but nothing is in flight", eager,
			func(p *faulty) { p.deliver = func(*faulty, packetizer.Header, []byte) {} }},
		{"a message overtakes", "but should have got", Program{{isend(8), isend(7)}, {irecv(16), irecv(16)}},
			func(p *faulty) {
				var h packetizer.Header
				var kept []byte
				p.deliver = func(p *faulty, g packetizer.Header, payload []byte) {
					if kept == nil {
						h, kept = g, append([]byte{}, payload...)
						return
					}
					p.Protocol.Deliver(g, payload)
					p.Protocol.Deliver(h, kept)
				}
			}},
		{"needs nothing", "does not say that it needs progress", long,
			func(p *faulty) { p.needs = func() variants.Needs { return 0 } }},
		{"needs something for ever", "but the protocol still needs something", eager,
			func(p *faulty) { p.needs = func() variants.Needs { return variants.NeedsArrivals } }},
		{"wakes again and again", "are to be woken again", eager,
			func(p *faulty) { p.needs = func() variants.Needs { return variants.NeedsWake } }},
		{"progress for ever", "Progress says for ever", long,
			func(p *faulty) { p.progress = func() bool { return true } }},
		{"something left", "still has: a thing", eager,
			func(p *faulty) { p.waiting = func(f func(string)) { f("a thing") } }},
		{"wrong count", "receives are counted", eager, func(p *faulty) { p.Counters().Receives++ }},
		{"probe fails", "a probe returns an error: wrong", Program{{isend(8)}, {{Kind: Probe, Peer: 0, Tag: 1}}},
			func(p *faulty) {
				p.probe = func() (variants.Status, bool, error) { return variants.Status{}, false, wrong }
			}},
		{"probe finds another message", "which is not what a receive would get", Program{{isend(8)},
			{{Kind: Probe, Peer: 0, Tag: 1}}},
			func(p *faulty) {
				p.probe = func() (variants.Status, bool, error) { return variants.Status{Tag: 1, Size: 7}, true, nil }
			}},
		{"probe finds nothing", "a probe does not find it", Program{{isend(8)}},
			func(p *faulty) {
				p.probe = func() (variants.Status, bool, error) { return variants.Status{}, false, nil }
			}},
		{"cancelling does nothing", "was to be cancelled, and never completes", Program{nil,
			{irecv(50), {Kind: Cancel}}},
			func(p *faulty) { p.cancel = func() {} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			make := func(me int, dev Device) variants.Protocol {
				p := &faulty{dev: dev}
				if c.name == "a message overtakes" {
					p.Protocol = readbased.New(me, dev) // without numbers that would notice
				} else {
					p.Protocol = ticket.New(me, dev)
				}
				c.fault(p)
				return p
			}
			v := drive(New(Config{Ranks: 2, Make: make}, c.program))
			if c.want == "" {
				require.Nil(t, v)
				return
			}
			require.NotNil(t, v)
			require.ErrorContains(t, v, c.want)
		})
	}
}

// A request of a rank that has died must end, and only such a one may.
func TestDeaths(t *testing.T) {
	die := func(fault func(*faulty)) *Violation {
		make := func(me int, dev Device) variants.Protocol {
			p := &faulty{Protocol: ticket.New(me, dev), dev: dev}
			fault(p)
			return p
		}
		w := New(Config{Ranks: 2, Make: make, Mortal: 1}, Program{{{Kind: Recv, Peer: 1, Tag: 1, Size: 50}, isend(48)}})
		return drive(w)
	}
	require.Nil(t, die(func(*faulty) {}))
	v := die(func(p *faulty) { p.failed = func() {} })
	require.NotNil(t, v)
	require.ErrorContains(t, v, "a rank that it depends on has died")
}

// Memory beside a buffer is looked at whenever its rank does something.
func TestGuards(t *testing.T) {
	w := New(Protocols[0].Config(2), Program{{isend(8)}, {irecv(16)}})
	w.Do(Action{Kind: Step, From: 1})
	require.Nil(t, w.Violation())
	w.Requests(1)[0].memory[0]++
	w.Do(Action{Kind: Step, From: 0})
	w.Do(Action{Kind: Deliver, From: 0, To: 1})
	require.ErrorContains(t, w.Violation(), "memory beside the buffer")
}
