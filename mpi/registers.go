package mpi

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/endpoint"
	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// registers is the fabric over the prototype's register pages: messages and
// writes go through the device, which has no doorbell, so a rank that waits
// polls at a falling pace. Its place in the job, and so who has died, is that
// of a host member.
type registers struct {
	*host.Member
	device
	detector *endpoint.Detector // nil: a launcher says who has died

	round int         // fruitless polls of a wait
	idle  int         // fruitless polls in a row, of whatever call
	armed atomic.Bool // the background goroutine polls as well

	silent atomic.Pointer[error]                      // why the device was given up
	lost   atomic.Pointer[[]*packetizer.RefusedError] // see registers_lost.go
}

// device keeps the Endpoint's Rank and Size, which are the Member's, out of
// the way.
type device struct{ *endpoint.Endpoint }

// attachTimeout bounds the wait for the other ranks' mailboxes, all of which
// have joined the job already.
const attachTimeout = 10 * time.Second

// The pace of background progress: with something pending, and for what nobody has attended to, as a send that another
// rank cancels.
const (
	backgroundNap  = 200 * time.Microsecond
	backgroundLook = 20 * time.Millisecond
)

// suspicious is how many fruitless polls it takes until a rank looks who has died.
const suspicious = 512

// openRegisters opens the registers for a member of a job of our launcher's.
func openRegisters(m *host.Member, o *settings) (fabric, error) {
	if o.path != "" {
		return openByPath(m, o, func(mine []byte) (all [][]byte, err error) {
			all, _, err = exchange(m, mine)
			return all, err
		})
	}
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
	switch {
	case ok:
		r.round, r.idle = 0, 0
		return h, payload, true
	case r.detector == nil:
		return h, payload, false
	}
	if r.idle++; r.idle < suspicious {
		return h, payload, false
	}
	dead := r.detector.Look(time.Now())
	if why := r.detector.Silent(); why != nil {
		r.silent.Store(&why)
	}
	for _, rank := range dead {
		r.Lose(rank, 0)
	}
	if len(dead) > 0 { // what they have sent before is there now
		return r.Endpoint.Next()
	}
	return h, payload, false
}

// TrySend drops what is for the dead, whose node may not answer.
func (r *registers) TrySend(to int, h packetizer.Header, payload []byte) bool {
	return r.Endpoint.TrySend(to, h, payload) || r.Dead(to)
}

// Test gives up writes to the dead, whose node may not answer.
func (r *registers) Test(t *rdmaeng.Transfer) (done bool, err error) {
	if done, err = r.Endpoint.Test(t); !done && r.Dead(t.To) {
		return true, rdmaeng.ErrPeer
	}
	return done, err
}

func (r *registers) Spin(uint32) bool {
	r.round++
	r.Idle(r.round)
	return true
}

func (r *registers) Sleep(mark uint32) { r.Spin(mark) }

func (r *registers) Yield() {
	runtime.Gosched()
	sys.Yield()
}

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
	look := time.AfterFunc(backgroundLook, func() { r.WakeBackground(r.Member.Rank()) })
	defer look.Stop()
	r.Member.WaitBackground(mark)
}

// Host implements network.Hosts: what ranks of other nodes have is out of reach.
func (r *registers) Host(rank int) int {
	first := 0
	for r.Node(first) != r.Node(rank) {
		first++
	}
	return first
}

// Finalize tells ranks that nobody else would tell.
func (r *registers) Finalize() {
	if r.detector != nil {
		r.detector.Leave()
	}
	r.Member.Finalize()
}

func (r *registers) Rank() int { return r.Member.Rank() }
func (r *registers) Size() int { return r.Member.Size() }
func (r *registers) Close()    { _ = r.Endpoint.Close() }
