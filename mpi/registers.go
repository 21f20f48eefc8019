package mpi

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/endpoint"
	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/packetizer"
)

// registers is the fabric over the prototype's register pages: messages and
// writes go through the device, which has no doorbell, so a rank that waits
// polls at a falling pace. Its place in the job, and so who has died, is that
// of a host member.
type registers struct {
	*host.Member
	device

	round int         // fruitless polls in a row
	armed atomic.Bool // the background goroutine polls as well

	lost atomic.Pointer[[]*packetizer.RefusedError] // see registers_lost.go
}

// device keeps the Endpoint's Rank and Size, which are the Member's, out of
// the way.
type device struct{ *endpoint.Endpoint }

// attachTimeout bounds the wait for the other ranks' mailboxes, all of which
// have joined the job already.
const attachTimeout = 10 * time.Second

// backgroundNap is the pace of background progress.
const backgroundNap = 200 * time.Microsecond

func openRegisters(m *host.Member) (fabric, error) {
	file, err := env.File(env.Registers)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	path := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	e, err := endpoint.Open(path, m.Rank(), m.Size(), 0, attachTimeout)
	if err != nil {
		return nil, err
	}
	return &registers{Member: m, device: device{e}}, nil
}

func (r *registers) Next() (packetizer.Header, []byte, bool) {
	h, payload, ok := r.Endpoint.Next()
	if ok {
		r.round = 0
	}
	return h, payload, ok
}

func (r *registers) Spin(uint32) bool {
	r.round++
	r.Idle(r.round)
	return true
}

func (r *registers) Sleep(mark uint32) { r.Spin(mark) }

func (r *registers) ArmBackground() bool {
	if !r.armed.Swap(true) {
		r.WakeBackground(r.Member.Rank())
	}
	return false
}

func (r *registers) DisarmBackground() { r.armed.Store(false) }

func (r *registers) WaitBackground(mark uint32) {
	if r.armed.Load() {
		time.Sleep(backgroundNap)
		return
	}
	r.Member.WaitBackground(mark)
}

func (r *registers) Rank() int { return r.Member.Rank() }
func (r *registers) Size() int { return r.Member.Size() }
func (r *registers) Close()    { _ = r.Endpoint.Close() }
