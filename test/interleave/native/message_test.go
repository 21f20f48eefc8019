//go:build interleave && cgo

package native

import (
	"fmt"
	"testing"

	"github.com/exanet-mpi/exanet/emu/host"
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

// What Go sends is received in C, whose room is given back when it has been read.
func TestEveryMessageToC(t *testing.T) {
	p := interleave.Program[[]*host.Fabric]{
		World: func(m *interleave.Memory) []*host.Fabric { return two(m, true, false) },
		Ranks: []func([]*host.Fabric) any{
			func(f []*host.Fabric) any {
				for i := range messages {
					h := packetizer.Header{0, 0, uint64(i) << 32}
					for done := false; !done; {
						interleave.At(fmt.Sprint(i))
						done = f[0].TrySend(1, h, mem.Bytes([]uint64{uint64(i + 1)}))
					}
				}
				return "sent"
			},
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
