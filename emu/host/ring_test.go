package host

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

func attachAll(t require.TestingT, n int) []*Fabric {
	j := NewLocalJob(n)
	fabs := make([]*Fabric, n)
	for i := range fabs {
		m, err := j.JoinLocal(i)
		require.NoError(t, err)
		fabs[i] = NewFabric(m, 0)
	}
	return fabs
}

// joined are the ranks of a job of two processes, which are both this one.
func joined(t require.TestingT) (j *Job, fabs [2]*Fabric) {
	j, err := NewJob(2)
	require.NoError(t, err)
	for i := range fabs {
		m, err := j.join(i, "")
		require.NoError(t, err)
		fabs[i] = NewFabric(m, 0)
	}
	return j, fabs
}

// Rings are bounded FIFOs of whole messages, whatever their sizes.
func TestRingsAreBoundedFIFOs(t *testing.T) {
	j, shared := joined(t)
	defer j.Close()
	rapid.Check(t, func(t *rapid.T) {
		fabs := shared[:]
		if rapid.Bool().Draw(t, "within a process") {
			fabs = attachAll(t, 2)
		}
		for me := range fabs { // what is left of the last
			if fabs[me].current != nil {
				fabs[me].Release()
				fabs[me].current = nil
			}
			for _, _, ok := fabs[me].Next(); ok; _, _, ok = fabs[me].Next() {
				fabs[me].Release()
				fabs[me].current = nil
			}
		}
		type message struct {
			number int
			data   []byte
		}
		var model [2][]message // by the rank that they are from
		var current [2]bool    // has a message out
		sent := 0
		rank := rapid.IntRange(0, 1)
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				me := rank.Draw(t, "from")
				n := rapid.OneOf(rapid.IntRange(0, 60), rapid.IntRange(0, DefaultLimit), rapid.Just(DefaultLimit),
					rapid.IntRange(cellInline-1, cellInline+1)).Draw(t, "size")
				b := make([]byte, n)
				for i := range b {
					b[i] = byte(sent + i)
				}
				h := packetizer.Header{uint64(sent) << 32, uint64(n), ^uint64(sent)}
				if fabs[me].TrySend(1-me, h, b) {
					model[me] = append(model[me], message{sent, b})
					sent++
				} else if len(model[me]) == 0 {
					t.Fatal("an empty ring refuses a message")
				}
			},
			"take out": func(t *rapid.T) {
				me := rank.Draw(t, "by")
				if current[me] {
					t.Skip("this rank has a message out")
				}
				h, b, ok := fabs[me].Next()
				waiting := model[1-me]
				require.Equal(t, len(waiting) > 0, ok)
				if current[me] = ok; !ok {
					return
				}
				require.Equal(t, waiting[0].data, append([]byte{}, b...))
				require.Equal(t, uint64(len(b)), h[1])
				require.Equal(t, uint64(waiting[0].number), h[0]>>32)
				waiting[0].data = b
			},
			"release": func(t *rapid.T) {
				me := rank.Draw(t, "by")
				if !current[me] {
					t.Skip("this rank has no message out")
				}
				m := model[1-me][0]
				for i, v := range m.data {
					if v != byte(m.number+i) {
						t.Fatalf("byte %d of message %d has been written over before it was released", i, m.number)
					}
				}
				model[1-me] = model[1-me][1:]
				fabs[me].Release()
				fabs[me].current, current[me] = nil, false
			},
		})
	})
}

// Writes through the ring arrive whole, the notification once and after the
// data, and nothing arrives once the buffer is withdrawn.
func TestWritesThroughTheRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fabs := attachAll(t, 2)
		n := rapid.IntRange(0, 100_000).Draw(t, "size")
		withdrawAt := rapid.IntRange(0, 20).Draw(t, "withdraw after")
		src, dst := make([]byte, n), make([]byte, n)
		for i := range src {
			src[i] = byte(i%251 + 1)
		}
		slot, w := fabs[1].Expose(dst)
		tr := &rdmaeng.Transfer{To: 1, Src: src, Dst: w, Notify: rdmaeng.Notification{int32(n), 5, 0, 0}}
		fabs[0].Start(tr)
		if tr.Stage == stageShare {
			fabs[0].giveUp(tr)
		}
		done, withdrawn, notified := false, false, 0
		var after []byte
		for i := 0; i < 200; i++ {
			if !done {
				var err error
				done, err = fabs[0].Test(tr)
				require.NoError(t, err)
			}
			if i == withdrawAt && notified == 0 && withdrawAt > 10 {
				fabs[1].Withdraw(slot)
				withdrawn = true
				after = append([]byte{}, dst...)
			}
			_, _, ok := fabs[1].Next()
			require.False(t, ok)
			if s, note, ok := fabs[1].Notified(); ok {
				notified++
				require.Equal(t, slot, s)
				require.Equal(t, tr.Notify, note)
				require.Equal(t, src, dst)
			}
		}
		require.True(t, done)
		if withdrawn {
			require.Zero(t, notified)
			require.Equal(t, after, dst)
		} else {
			require.Equal(t, 1, notified)
		}
	})
}

func TestPhaseSurvivesItsWrapAround(t *testing.T) {
	fabs := attachAll(t, 2)
	// The phase is 16 bits of the lap: start just before it wraps.
	r := fabs[0].job.ringOf(0, 1)
	start := uint64(0xfffe) * localCells
	require.True(t, fabs[0].TrySend(1, packetizer.Header{}, nil)) // opens the ring
	_, _, ok := fabs[1].Next()
	require.True(t, ok)
	fabs[1].Release()
	r.head.tail, r.head.credit = start, start
	r.head.released.Store(start)
	r.head.head, r.head.returned = start, start
	for i := range uint64(localCells) {
		r.cell(&fabs[0].job.geo, i).header[0] = 0xfffe
	}
	var b [8]byte
	for i := range uint64(5 * localCells) {
		binary.LittleEndian.PutUint64(b[:], i)
		require.True(t, fabs[0].TrySend(1, packetizer.Header{}, b[:]))
		_, p, ok := fabs[1].Next()
		require.True(t, ok)
		require.Equal(t, i, binary.LittleEndian.Uint64(p))
		fabs[1].Release()
		_, _, ok = fabs[1].Next()
		require.False(t, ok)
	}
}
