package mpi_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/mpi"
)

func made(t *datatype.Type, err error) *datatype.Type {
	if err != nil {
		panic(err)
	}
	return t
}

// column is the type of a column of an n by n matrix of float64.
func column(n int) *datatype.Type { return made(datatype.Vector(n, 1, n, datatype.Float64)) }

// matrix has 1, 2, 3, ... in it, row by row.
func matrix(n int) []float64 {
	m := make([]float64, n*n)
	for i := range m {
		m[i] = float64(i + 1)
	}
	return m
}

// Every call that sends moves a column, every call that receives puts it into
// another, from short messages to long ones.
func TestColumnsBetweenTwoRanks(t *testing.T) {
	for _, v := range mpi.Variants() {
		for _, n := range []int{2, 100, 600, 1100} {
			t.Run(fmt.Sprint(v, " ", n), func(t *testing.T) {
				require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error { return columns(c, v, n) }, mpi.WithVariant(v)))
			})
		}
	}
}

func columns(c *mpi.Comm, variant string, n int) error {
	col := column(n)
	me, other := c.Rank(), 1-c.Rank()
	out := matrix(n)
	at := func(m []float64) mpi.Data { return mpi.With(m[1:], 1, col) }
	started := func(q *mpi.Request, err error) error {
		if err != nil {
			return err
		}
		if _, err := q.Wait(); err != nil {
			return err
		}
		return nil
	}
	persistent := func(q *mpi.Request, err error) error {
		for range 3 {
			if err != nil {
				return err
			}
			if err = q.Start(); err == nil {
				_, err = q.Wait()
			}
		}
		return err
	}
	sends := []func(tag int) error{
		func(tag int) error { return c.SendData(at(out), other, tag) },
		func(tag int) error { return c.SsendData(at(out), other, tag) },
		func(tag int) error { return c.RsendData(at(out), other, tag) },
		func(tag int) error { return c.BsendData(at(out), other, tag) },
		func(tag int) error { return started(c.IsendData(at(out), other, tag)) },
		func(tag int) error { return started(c.IssendData(at(out), other, tag)) },
		func(tag int) error { return started(c.IrsendData(at(out), other, tag)) },
		func(tag int) error { return started(c.IbsendData(at(out), other, tag)) },
		func(tag int) error { return persistent(c.SendInitData(at(out), other, tag)) },
		func(tag int) error { return persistent(c.SsendInitData(at(out), other, tag)) },
		func(tag int) error { return persistent(c.RsendInitData(at(out), other, tag)) },
		func(tag int) error { return persistent(c.BsendInitData(at(out), other, tag)) },
	}
	in := make([]float64, n*n)
	recvs := []func(tag int) error{
		func(tag int) error {
			st, err := c.RecvData(at(in), other, tag)
			if err == nil && (st.CountOf(col) != 1 || st.Elements(col) != n || st.Bytes() != 8*n) {
				err = fmt.Errorf("the status says %d columns, %d elements, %d bytes", st.CountOf(col), st.Elements(col), st.Bytes())
			}
			return err
		},
		func(tag int) error { return started(c.IrecvData(at(in), other, tag)) },
	}
	if variant != "optimistic" {
		recvs = append(recvs, func(tag int) error {
			m, _, err := c.Mprobe(other, tag)
			if err == nil {
				_, err = m.RecvData(at(in))
			}
			return err
		}, func(tag int) error {
			m, _, err := c.Mprobe(other, tag)
			if err != nil {
				return err
			}
			return started(m.IrecvData(at(in)))
		})
	}
	tag := 0
	for i, send := range sends {
		for _, recv := range recvs {
			for _, sender := range []int{0, 1} {
				tag++
				clear(in)
				if me == sender {
					if err := send(tag); err != nil {
						return err
					}
					continue
				}
				times := 1
				if i >= len(sends)-4 {
					times = 3
				}
				for range times {
					if err := recv(tag); err != nil {
						return err
					}
					if err := onlyColumn(in, out, n); err != nil {
						return fmt.Errorf("send %d: %w", i, err)
					}
				}
			}
		}
	}
	clear(in)
	if err := persistentColumn(c, at(in), at(out), other); err != nil {
		return err
	}
	if err := onlyColumn(in, out, n); err != nil {
		return err
	}
	clear(in)
	if _, err := c.SendrecvData(at(out), other, 7, at(in), other, 7); err != nil {
		return err
	}
	if err := onlyColumn(in, out, n); err != nil {
		return err
	}
	clear(in)
	if err := started(c.IsendrecvData(at(out), other, 7, at(in), other, 7)); err != nil {
		return err
	}
	if err := onlyColumn(in, out, n); err != nil {
		return err
	}
	same := matrix(n)
	if _, err := c.SendrecvReplaceData(at(same), other, 8, other, 8); err != nil {
		return err
	}
	if err := started(c.IsendrecvReplaceData(at(same), other, 8, other, 8)); err != nil {
		return err
	}
	if !slices.Equal(same, out) {
		return fmt.Errorf("SendrecvReplaceData has changed more than a column")
	}
	return nil
}

func persistentColumn(c *mpi.Comm, in, out mpi.Data, other int) error {
	r, err := c.RecvInitData(in, other, 9)
	if err != nil {
		return err
	}
	s, err := c.SendInitData(out, other, 9)
	if err != nil {
		return err
	}
	for range 5 {
		if err := mpi.StartAll(r, s); err != nil {
			return err
		}
		if err := mpi.WaitAll(r, s); err != nil {
			return err
		}
	}
	return nil
}

// onlyColumn checks that column 1 of in is that of out and all else is 0.
func onlyColumn(in, out []float64, n int) error {
	for i, x := range in {
		want := 0.0
		if i%n == 1 {
			want = out[i]
		}
		if x != want {
			return fmt.Errorf("%d by %d: row %d, column %d is %v, not %v", n, n, i/n, i%n, x, want)
		}
	}
	return nil
}

// Gaps cost no messages: every protocol sends what it sends for contiguous data.
func TestGapsCostNoMessages(t *testing.T) {
	for _, v := range mpi.Variants() {
		for _, n := range []int{20, 1100} {
			for _, receiverFirst := range []bool{false, true} {
				counters := func(gaps bool) (sum [2]map[string]uint64) {
					require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
						m := matrix(n)
						d := mpi.Of(m[:n])
						if gaps {
							d = mpi.With(m, 1, column(n))
						}
						var q *mpi.Request
						var err error
						if c.Rank() == 1 && receiverFirst {
							q, err = c.IrecvData(d, 0, 0)
						} else if c.Rank() == 0 && !receiverFirst {
							q, err = c.IsendData(d, 1, 0)
						}
						if err == nil {
							err = c.Barrier()
						}
						if err == nil && q == nil && receiverFirst {
							q, err = c.IsendData(d, 1, 0)
						} else if err == nil && q == nil {
							q, err = c.IrecvData(d, 0, 0)
						}
						if err != nil {
							return err
						}
						if _, err := q.Wait(); err != nil {
							return err
						}
						if err := c.Barrier(); err != nil {
							return err
						}
						n := c.Counters()
						// Whether an eager message of the barriers costs an RTR or an Ack
						// is a matter of time in some protocols.
						n["RTR"] += n["Ack"]
						delete(n, "Ack")
						sum[c.Rank()] = n
						return nil
					}, mpi.WithVariant(v)))
					return sum
				}
				require.Equal(t, counters(false), counters(true), "%s, %d, receiver first: %v", v, n, receiverFirst)
			}
		}
	}
}

// A shorter message fills the beginning, a longer one nothing at all.
func TestPartsOfColumns(t *testing.T) {
	for _, v := range mpi.Variants() {
		for _, n := range []int{20, 2000} {
			require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
				col, half := column(n), made(datatype.Vector(n/2, 1, n, datatype.Float64))
				out := matrix(n)
				if c.Rank() == 0 {
					if err := c.SendData(mpi.With(out, 1, half), 1, 1); err != nil {
						return err
					}
					return c.SendData(mpi.With(out, 1, col), 1, 2)
				}
				in := make([]float64, n*n)
				st, err := c.RecvData(mpi.With(in, 1, col), 0, 1)
				if err != nil {
					return err
				}
				for i := range n {
					want := 0.0
					if i < n/2 {
						want = out[i*n]
					}
					require.Equal(t, want, in[i*n])
				}
				require.Equal(t, []int{-1, n / 2, n / 2}, []int{st.CountOf(col), st.Elements(col), st.CountOf(datatype.Float64)})
				clear(in)
				st, err = c.RecvData(mpi.With(in, 1, half), 0, 2)
				require.ErrorIs(t, err, mpi.ErrTruncate)
				require.Equal(t, 8*n, st.Bytes())
				require.Equal(t, make([]float64, n*n), in)
				return nil
			}, mpi.WithVariant(v)), v)
		}
	}
}

// The padding of a Go struct is not sent with the type of the struct.
func TestStructsWithoutTheirPadding(t *testing.T) {
	type particle struct {
		Kind byte
		X, Y float64
		ID   int32
	}
	p := made(datatype.Of[particle]())
	for _, n := range []int{3, 5000} {
		require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
			ps := make([]particle, n)
			if c.Rank() == 0 {
				for i := range ps {
					ps[i] = particle{byte(i), float64(i), -float64(i), int32(i)}
				}
				return c.SendData(mpi.With(ps, n, p), 1, 0)
			}
			raw := unsafe.Slice((*byte)(unsafe.Pointer(&ps[0])), n*int(unsafe.Sizeof(ps[0])))
			for i := range raw {
				raw[i] = 0xee
			}
			st, err := c.RecvData(mpi.With(ps, n, p), 0, 0)
			if err != nil {
				return err
			}
			require.Equal(t, n*21, st.Bytes())
			require.Equal(t, n, st.CountOf(p))
			require.Equal(t, 4*n, st.Elements(p))
			for i, got := range ps {
				require.Equal(t, particle{byte(i), float64(i), -float64(i), int32(i)}, got)
				require.EqualValues(t, []byte{0xee, 0xee}, raw[i*32+1:i*32+3], "padding")
				require.EqualValues(t, []byte{0xee, 0xee}, raw[i*32+28:i*32+30], "padding")
			}
			return nil
		}))
	}
}

// Collectives take the view of data.
func TestDataInCollectives(t *testing.T) {
	require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
		col, m := column(20), make([]float64, 400)
		if c.Rank() == 1 {
			m = matrix(20)
		}
		if err := c.BcastData(mpi.With(m[1:], 1, col).View(), 1).Do(); err != nil {
			return err
		}
		if c.Rank() != 1 {
			if err := onlyColumn(m, matrix(20), 20); err != nil {
				return err
			}
		}
		return nil
	}))
}

func TestPackAndUnpack(t *testing.T) {
	col := column(10)
	m := matrix(10)
	out := make([]byte, mpi.PackSize(2, col)+3)
	at, err := mpi.Pack(mpi.With(m, 1, col), out, 3)
	require.NoError(t, err)
	at, err = mpi.Pack(mpi.Of(m[:10]), out, at)
	require.NoError(t, err)
	require.Equal(t, len(out), at)
	_, err = mpi.Pack(mpi.Of(m[:1]), out, at)
	require.ErrorIs(t, err, mpi.ErrTruncate)
	in := make([]float64, 100)
	at, err = mpi.Unpack(out, 3, mpi.With(in, 1, col))
	require.NoError(t, err)
	_, err = mpi.Unpack(out, at, mpi.Of(in[90:]))
	require.NoError(t, err)
	for i := range 9 {
		require.Equal(t, m[10*i], in[10*i])
	}
	require.Equal(t, m[:10], in[90:])
	_, err = mpi.Unpack(out, len(out)-7, mpi.Of(in[:1]))
	require.ErrorIs(t, err, mpi.ErrTruncate)
}

// A rank dies while others send to it and receive from it.
func TestDataOfTheDead(t *testing.T) {
	for _, v := range mpi.Variants() {
		for _, n := range []int{20, 1100} {
			var seen atomic.Int32
			died := errors.New("on purpose")
			err := mpi.Run(3, func(c *mpi.Comm) error {
				if c.Rank() == 2 {
					return died
				}
				col, m := column(n), matrix(n)
				if c.Rank() == 1 {
					_, err := c.RecvData(mpi.With(m, 1, col), 2, 0)
					require.ErrorIs(t, err, mpi.ErrProcFailed)
					require.Equal(t, matrix(n), m)
				} else {
					err := c.SsendData(mpi.With(m, 1, col), 2, 0)
					require.ErrorIs(t, err, mpi.ErrProcFailed)
				}
				seen.Add(1)
				return nil
			}, mpi.WithVariant(v))
			require.ErrorIs(t, err, died)
			require.EqualValues(t, 2, seen.Load())
		}
	}
}

// A request alone keeps its memory, which stays where it is though the stack that
// held the slice moves.
func TestDataStayWhereTheyAre(t *testing.T) {
	const n = 1100
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		col := column(n)
		other := 1 - c.Rank()
		in, err := c.IrecvData(mpi.With(matrix(n), 1, col), other, 0) // nobody else has this matrix
		if err != nil {
			return err
		}
		var local [40]float64
		small, err := c.IrecvData(mpi.With(local[:], 2, made(datatype.Vector(5, 2, 4, datatype.Float64))), other, 1)
		if err != nil {
			return err
		}
		deep(200)
		runtime.GC()
		for i := range 20 {
			_ = matrix(100 + i)
		}
		if err := c.SendData(mpi.With(matrix(n), 1, col), other, 0); err != nil {
			return err
		}
		if err := c.SendData(mpi.Of(matrix(5)[:20]), other, 1); err != nil {
			return err
		}
		if err := mpi.WaitAll(in, small); err != nil {
			return err
		}
		require.Equal(t, []float64{1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0, 7, 8, 0, 0, 9, 10, 11, 12, 0, 0}, local[:22])
		return nil
	}))
}

// deep makes the stack of this goroutine move.
func deep(n int) int {
	var pad [512]byte
	pad[n%len(pad)] = 1
	if n == 0 {
		return int(pad[0])
	}
	return deep(n-1) + int(pad[1])
}

func TestMistakesInData(t *testing.T) {
	require.NoError(t, mpi.Run(1, func(c *mpi.Comm) error {
		err := c.SendData(mpi.With(make([]float64, 99), 1, made(datatype.Contiguous(100, datatype.Float64))), 0, 0)
		require.ErrorIs(t, err, mpi.ErrCount)
		require.ErrorContains(t, err, "lie at bytes 0 to 800, the buffer has bytes 0 to 792")
		_, err = c.IrecvData(mpi.With([]int{1}, -1, datatype.Int64), 0, 0)
		require.ErrorIs(t, err, mpi.ErrCount)
		_, err = c.RecvData(mpi.With([]int{1}, 1, nil), 0, 0)
		require.ErrorIs(t, err, mpi.ErrType)
		_, err = c.RecvData(mpi.Of([]*int{nil}), 0, 0)
		require.ErrorIs(t, err, mpi.ErrType)
		err = c.BsendData(mpi.At(nil, 1, nil), 0, 0)
		require.ErrorIs(t, err, mpi.ErrType)
		err = c.SendData(mpi.Of([]int{1}), 1, 0)
		require.ErrorIs(t, err, mpi.ErrRank)
		require.Error(t, mpi.With([]int{1}, 2, datatype.Int64).Err())
		require.NoError(t, c.SendData(mpi.Of([]int{1}), mpi.ProcNull, 0))
		return nil
	}))
}
