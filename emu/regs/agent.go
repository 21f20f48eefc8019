package regs

import (
	"sync"
	"sync/atomic"

	"github.com/exanet-mpi/exanet/internal/mmio"
)

// fetch is a write that the agent of a node has been asked for: the R5
// processor of the prototype, which starts a write next to the data on the
// word of whoever wants them (thesis 2.6).
//
// The message that asks stays in its window until the write has ended, so that
// its RESULT can say how, and an agent has no more to remember than there are
// windows.
type fetch struct {
	write
	pdid uint32 // of whoever asks: both ends must have it
	node *node  // the agent's
	done atomic.Bool
}

// agents are those of all nodes: the goroutine of the packetizers asks, and
// that of the engines writes.
type agents struct {
	mu    sync.Mutex
	asked []*fetch
}

// ask hands a message to the agent of a node.
func (a *agents) ask(pdid uint32, n *node, msg []uint64) *fetch {
	f := &fetch{pdid: pdid, node: n, write: write{
		src: msg[mmio.AgentSrc/8], dst: msg[mmio.AgentDst/8], notif: msg[mmio.AgentNotif/8],
		size: msg[mmio.AgentBytes/8], data: [2]uint64{msg[mmio.AgentData/8], msg[mmio.AgentData/8+1]},
	}}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, f)
	return f
}

// takeAsked returns what has been asked for since the last time.
func (a *agents) takeAsked() []*fetch {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.asked
	a.asked = nil
	return all
}

// agentFor is the node whose agent an address names, nil if it names none.
func (d *Device) agentFor(dest uint64) *node {
	id, _, index := mmio.SplitMailboxAddress(dest)
	if index != mmio.AgentIndex || int(id) >= len(d.at) {
		return nil
	}
	return d.at[id]
}

// runAgents carries on what agents write and reports whether there was
// something to do.
func (e *engine) runAgents() bool {
	for _, f := range e.d.takeAsked() {
		if id, _, _ := mmio.SplitExanet(f.src); id != f.node.id {
			f.result = mmio.BadRoute // an agent reads its own node
		} else if f.from, f.src, f.result = e.resolve(f.pdid, f.src); f.result == mmio.OK {
			e.aim(f.pdid, &f.write)
		}
		e.fetches = append(e.fetches, f)
	}
	worked := len(e.fetches) > 0
	keep := e.fetches[:0]
	for _, f := range e.fetches {
		if e.carry(&f.write) {
			f.done.Store(true) // release: the result is there
		} else {
			keep = append(keep, f)
		}
	}
	clear(e.fetches[len(keep):])
	e.fetches = keep
	return worked
}
