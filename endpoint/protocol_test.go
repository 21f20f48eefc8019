package endpoint_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/endpoint"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/ticket"
	"github.com/stretchr/testify/require"
)

// sizes around the eager limit and beyond a chunk of the device.
var sizes = []int{0, 1, 40, 41, 5000, 200_000}

// The ticket protocol runs on registers as it runs on shared memory: every
// rank exchanges messages of all sizes with every other, with receives posted
// early and late, whatever memory the device reaches.
func TestProtocolOnRegisters(t *testing.T) {
	for _, n := range []regs.Node{{}, {Window: 4 << 20}, {Window: 2 << 20, Incoherent: true}} {
		t.Run(fmt.Sprintf("window %d incoherent %v", n.Window, n.Incoherent), func(t *testing.T) { onRegisters(t, n) })
	}
}

func onRegisters(t *testing.T, n regs.Node) {
	const ranks = 3
	n.PDIDs = []uint32{4, 4, 4}
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprintf("late receives %v", late), func(t *testing.T) {
			d, err := regs.New(regs.Config{Nodes: []regs.Node{n}, Depth: 8})
			require.NoError(t, err)
			defer func() { require.NoError(t, d.Close()) }()
			errs := make([]error, ranks)
			var wg, leave sync.WaitGroup
			leave.Add(ranks)
			for r := range ranks {
				wg.Go(func() { errs[r] = exchange(d.Path(0), r, ranks, late, &leave) })
			}
			wg.Wait()
			require.NoError(t, errors.Join(errs...))
		})
	}
}

// exchange is one rank. It keeps its pages until all have left.
func exchange(path string, me, ranks int, late bool, leave *sync.WaitGroup) (err error) {
	left := false
	defer func() {
		if !left {
			leave.Done()
		}
	}()
	e, err := endpoint.Open(path, me, ranks, 4, time.Minute)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	p := ticket.New(me, e)
	ctx := &variants.Context{ID: 1, Rank: int32(me)}
	p.Open(ctx)

	var sends, recvs []*variants.Request
	post := func(recv bool) {
		for k, n := range sizes {
			for peer := range ranks {
				if peer == me {
					continue
				}
				r := &variants.Request{}
				r.Reset()
				r.Recv, r.Ctx, r.Peer, r.Tag, r.Buf = recv, ctx, int32(peer), int32(k%2), make([]byte, n)
				if recv {
					recvs = append(recvs, r)
					p.PostRecv(r)
					continue
				}
				for i := range r.Buf {
					r.Buf[i] = value(me, peer, k, i)
				}
				sends = append(sends, r)
				p.PostSend(r)
			}
		}
	}
	post(!late) // receives first, or sends first
	if late {
		for range 200 {
			poll(e, p)
		}
	}
	post(late)
	if err := drive(e, p, append(append([]*variants.Request{}, sends...), recvs...)); err != nil {
		return err
	}
	for i, r := range recvs {
		k := i / (ranks - 1)
		if r.Err != nil || r.Status.Size != sizes[k] || r.Status.Source != r.Peer {
			return fmt.Errorf("rank %d, message %d: %v, %+v", me, k, r.Err, r.Status)
		}
		for at, b := range r.Buf {
			if b != value(int(r.Peer), me, k, at) {
				return fmt.Errorf("rank %d: byte %d of message %d from rank %d is wrong", me, at, k, r.Peer)
			}
		}
	}
	left = true
	leave.Done()
	leave.Wait()
	return e.Refused()
}

func value(from, to, k, i int) byte { return byte(from*31 + to*57 + k*101 + i*7 + i>>8) }

// drive polls until all requests are done and nothing waits to be sent.
func drive(e *endpoint.Endpoint, p *ticket.Protocol, reqs []*variants.Request) error {
	end := time.Now().Add(time.Minute)
	for fruitless := 0; ; fruitless++ {
		done := p.Needs()&variants.NeedsProgress == 0 && e.Drained()
		for _, r := range reqs {
			done = done && r.Done
		}
		if done {
			return nil
		}
		if poll(e, p) {
			fruitless = 0
		}
		e.Idle(fruitless)
		if time.Now().After(end) {
			var open []string
			p.Waiting(func(line string) { open = append(open, line) })
			return fmt.Errorf("rank %d gave up waiting: %v", e.Rank(), open)
		}
	}
}

func poll(e *endpoint.Endpoint, p *ticket.Protocol) (moved bool) {
	if h, payload, ok := e.Next(); ok {
		p.Deliver(h, payload)
		e.Release()
		moved = true
	}
	if slot, n, ok := e.Notified(); ok {
		p.Notified(slot, n)
		moved = true
	}
	return p.Progress() || moved
}
