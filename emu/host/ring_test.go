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

// A ring is a bounded FIFO of whole messages, whatever their sizes.
func TestRingIsABoundedFIFO(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fabs := attachAll(t, 2)
		var model [][]byte
		sent := 0
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				n := rapid.OneOf(rapid.IntRange(0, 60), rapid.IntRange(0, DefaultLimit), rapid.Just(DefaultLimit)).Draw(t, "size")
				b := make([]byte, n)
				for i := range b {
					b[i] = byte(sent + i)
				}
				h := packetizer.Header{uint64(sent) << 32, uint64(n), ^uint64(sent)}
				if fabs[0].TrySend(1, h, b) {
					model = append(model, b)
					sent++
				} else if len(model) == 0 {
					t.Fatal("an empty ring refuses a message")
				}
			},
			"receive": func(t *rapid.T) {
				h, b, ok := fabs[1].Next()
				require.Equal(t, len(model) > 0, ok)
				if !ok {
					return
				}
				require.Equal(t, model[0], append([]byte{}, b...))
				require.Equal(t, uint64(len(b)), h[1])
				require.Equal(t, uint64(sent-len(model)), h[0]>>32)
				model = model[1:]
				fabs[1].Release()
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
		if tr.Stage == stageCopy {
			tr.Stage = stageRing // what a refused attach leads to
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
	r.head.cursor.head, r.head.cursor.returned = start, start
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
