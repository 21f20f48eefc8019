package mpi_test

import (
	"fmt"
	"slices"
	"testing"

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
				err = fmt.Errorf("the status says %d columns, %d elements, %d bytes", st.CountOf(col), st.Elements(col),
					st.Bytes())
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
						// is a matter of time in some protocols. Without those messages
						// it would be one whether the RTR is seen in time.
						n["RTR"] += n["Ack"]
						delete(n, "Ack")
						sum[c.Rank()] = n
						return nil
					}, mpi.WithVariant(v), mpi.WithCollectives("barrier:dissemination")))
					return sum
				}
				// Who has waited for long asks what has come of its message, which costs messages.
				prompt := func(gaps bool) (sum [2]map[string]uint64) {
					for range 50 {
						if sum = counters(gaps); sum[0]["Query"]+sum[1]["Query"] == 0 {
							break
						}
					}
					return sum
				}
				require.Equal(t, prompt(false), prompt(true), "%s, %d, receiver first: %v", v, n, receiverFirst)
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
				require.Equal(t, []int{-1, n / 2, n / 2},
					[]int{st.CountOf(col), st.Elements(col), st.CountOf(datatype.Float64)})
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
