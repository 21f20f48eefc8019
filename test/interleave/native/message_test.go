//go:build interleave && cgo

package native

import (
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/fastpath"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/test/interleave"
)

const (
	messages = 3
	cells    = 2 // so that the sender runs out
)

func two(m *interleave.Memory, headers, fenced bool) []*host.Fabric {
	f := host.Interleaved(m, 2, cells, 1024, headers, [2]int{0, 1}, [2]int{1, 0})
	f[0].SendFenced(fenced)
	f[1].SendFenced(fenced)
	f[0].Opened(1)
	return f
}

// What C sends wakes a rank that sleeps in Go.
func TestEveryMessageFromC(t *testing.T) {
	for _, fenced := range []bool{false, true} {
		p := interleave.Program[[]*host.Fabric]{
			World: func(m *interleave.Memory) []*host.Fabric { return two(m, false, fenced) },
			Ranks: []func([]*host.Fabric) any{
				func(f []*host.Fabric) any {
					p := pathOf(f[0], 1, fenced)
					for i := range messages {
						interleave.At(fmt.Sprint(i))
						for !p.send(uint64(i + 1)) {
							interleave.Yield()
						}
					}
					return "sent"
				},
				func(f []*host.Fabric) any {
					for i := 0; i < messages; {
						interleave.At(fmt.Sprint(i))
						mark := f[1].Mark()
						if _, payload, ok := f[1].Next(); ok {
							word := *interleave.Read(&mem.Slice[uint64](payload)[0])
							interleave.Assert(word == uint64(i+1), "a message has not come whole")
							f[1].Release()
							i++
						} else {
							f[1].Sleep(mark)
						}
					}
					return "received"
				},
			},
		}
		for _, model := range lateStores {
			interleave.Holds(t, model, p)
			interleave.Finds(t, model, p, interleave.In("", "futex wake", "", interleave.Drop))
			unordered := "membarrier"
			if fenced {
				unordered = "fence"
			}
			interleave.Finds(t, model, p, interleave.In("", unordered, "", interleave.Drop))
		}
		interleave.Finds(t, interleave.Weak, p, interleave.In("", "store", "ring 0-1 cell 0 word", interleave.Weaken))
	}
}

// sends is what a rank does that sends so many messages in Go.
func sends(n int) func([]*host.Fabric) any {
	return func(f []*host.Fabric) any {
		for i := range n {
			h := packetizer.Header{0, 0, uint64(i) << 32}
			for done := false; !done; {
				interleave.At(fmt.Sprint(i))
				done = f[0].TrySend(1, h, mem.Bytes([]uint64{uint64(i + 1)}))
			}
		}
		return "sent"
	}
}

// What Go sends is received in C, whose room is given back when it has been read.
func TestEveryMessageToC(t *testing.T) {
	p := interleave.Program[[]*host.Fabric]{
		World: func(m *interleave.Memory) []*host.Fabric { return two(m, true, false) },
		Ranks: []func([]*host.Fabric) any{
			sends(messages),
			func(f []*host.Fabric) any {
				p := pathOf(f[1], 0, false)
				for i := 0; i < messages; {
					interleave.At(fmt.Sprint(i))
					if word, ok := p.receive(); ok {
						interleave.Assert(word == uint64(i+1), "a message has not come whole")
						i++
					}
				}
				return "received"
			},
		},
	}
	for _, model := range lateStores {
		interleave.Holds(t, model, p)
		interleave.Finds(t, model, p, interleave.In("", "store", "ring 0-1 cell 0 payload+0", interleave.Delay))
	}
	interleave.Finds(t, interleave.Weak, p, interleave.In("", "load", "ring 0-1 cell 0 word", interleave.Weaken))
}

// What Go sends completes the receives that are pending in C, in their order.
func TestEveryPendingReceive(t *testing.T) {
	p := interleave.Program[[]*host.Fabric]{
		World: func(m *interleave.Memory) []*host.Fabric { return two(m, true, false) },
		Ranks: []func([]*host.Fabric) any{
			sends(messages),
			func(f []*host.Fabric) any {
				p := pathOf(f[1], 0, false)
				words, slots := new([messages]uint64), [messages]int{}
				for i := range words {
					slots[i] = p.post(&words[i])
				}
				for i := 0; i < messages; {
					interleave.At(fmt.Sprint(i))
					if p.complete() {
						done := p.table.Slots[slots[i]].State == fastpath.Done
						interleave.Assert(done && words[i] == uint64(i+1), "a receive has not got its message")
						i++
					}
				}
				return "received"
			},
		},
	}
	for _, model := range lateStores {
		interleave.Holds(t, model, p)
		interleave.Finds(t, model, p, interleave.In("", "store", "ring 0-1 cell 0 payload+0", interleave.Delay))
	}
	interleave.Finds(t, interleave.Weak, p, interleave.In("", "load", "ring 0-1 cell 0 word", interleave.Weaken))
}

// taken is a receive of a rank that a call has made pending, for whoever holds the rank's lock.
type taken struct {
	f    []*host.Fabric
	p    *path
	word *uint64
}

// lists are words of a table behind each other.
type lists struct {
	fastpath.Geometry
	First, Last, Free, Fresh uint32
}

// A pending receive is completed by a call in C, or posted by who takes the rank's lock in Go: by one of them.
func TestEveryReceiveThatGoPosts(t *testing.T) {
	runtime.LockOSThread() // whose number the calls tell
	defer runtime.UnlockOSThread()
	word := new(uint64) // of all worlds: a slot has its address, by which equal states would differ
	p := interleave.Program[*taken]{
		World: func(m *interleave.Memory) *taken {
			*word = 0
			x := &taken{f: two(m, true, false), word: word}
			h := packetizer.Header{}
			x.f[0].TrySend(1, h, mem.Bytes([]uint64{7}))
			x.p = pathOf(x.f[1], 0, false)
			table := &x.p.table
			table.Lock.Open(false)
			table.Lock.Leave()
			m.Share("lock", &table.Lock)
			m.Share("table", (*lists)(unsafe.Pointer(&table.Rings)))
			m.Share("slot", &table.Slots[0])
			m.Share("channel", &table.In[x.p.place])
			m.Share("word", x.word)
			return x
		},
		Ranks: []func(*taken) any{
			func(x *taken) any {
				for i, of := range []func() bool{func() bool { return x.p.post(x.word) == 0 }, x.p.complete} {
					for {
						interleave.At(fmt.Sprint(i))
						if enter(&x.p.table.Lock) {
							break
						}
						interleave.Yield()
					}
					done := of()
					leave(&x.p.table.Lock)
					if !done {
						return false
					}
				}
				return *interleave.Read(x.word) == 7
			},
			func(x *taken) any {
				x.p.table.Lock.Enter()
				_, pending := x.p.table.Pop()
				x.p.table.Lock.Leave()
				return pending
			},
		},
		End: func(results []any) error {
			if results[0] == results[1] {
				return fmt.Errorf("completed: %v, posted: %v", results[0], results[1])
			}
			return nil
		},
		Late: 2,
	}
	states := interleave.Holds(t, interleave.TSO, p).States // TestEveryLock has stores in any order
	require.Equal(t, states, interleave.Holds(t, interleave.TSO, p).States, "they depend on more than the program")
	interleave.Finds(t, interleave.TSO, p, interleave.In("", "membarrier", "", interleave.Drop))
}
