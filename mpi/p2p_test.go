package mpi_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

var sizes = []int{0, 1, 7, 8, 40, 41, 64, 232, 233, 1000, 4096, 4097, 8192, 8193, 32 << 10, 32<<10 + 1, 65536, 1 << 20}

func pattern(n, seed int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + seed*13 + i>>8)
	}
	return b
}

func TestPingPongOfAllSizes(t *testing.T) {
	for _, device := range []string{"host", "prototype"} {
		t.Run(device, func(t *testing.T) {
			require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
				peer := 1 - c.Rank()
				for i, n := range sizes {
					out, in := pattern(n, i), make([]byte, n)
					if c.Rank() == 0 {
						if err := mpi.Send(c, out, peer, i); err != nil {
							return err
						}
					}
					st, err := mpi.Recv(c, in, peer, i)
					if err != nil {
						return err
					}
					if st.Bytes() != n || st.Source != peer || st.Tag != i || string(in) != string(out) {
						return fmt.Errorf("size %d: got %+v", n, st)
					}
					if c.Rank() == 1 {
						if err := mpi.Send(c, out, peer, i); err != nil {
							return err
						}
					}
				}
				return nil
			}, mpi.WithDevice(device)))
		})
	}
}

func TestTruncationLeavesTheBufferAlone(t *testing.T) {
	for _, n := range []int{8, 100, 5000, 100000} {
		for _, early := range []bool{false, true} {
			require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
				if c.Rank() == 0 {
					if early {
						if err := c.Barrier(); err != nil {
							return err
						}
					}
					return mpi.Send(c, pattern(n, 1), 1, 3)
				}
				buf := make([]byte, n)
				q, err := mpi.Irecv(c, buf[:n-1], 0, 3)
				if err != nil {
					return err
				}
				if early {
					if err := c.Barrier(); err != nil {
						return err
					}
				}
				st, err := q.Wait()
				if !errors.Is(err, mpi.ErrTruncate) {
					return fmt.Errorf("size %d: want truncation, got %v", n, err)
				}
				if st.Bytes() != n || string(buf) != string(make([]byte, n)) {
					return fmt.Errorf("size %d: status %+v or buffer wrong", n, st)
				}
				return nil
			}))
		}
	}
}

func TestSelfAndNull(t *testing.T) {
	require.NoError(t, mpi.Run(1, func(c *mpi.Comm) error {
		for _, n := range sizes {
			in := make([]byte, n)
			q, err := mpi.Irecv(c, in, 0, 1)
			if err != nil {
				return err
			}
			if err := mpi.Ssend(c, pattern(n, 2), 0, 1); err != nil {
				return err
			}
			if st, err := q.Wait(); err != nil || st.Bytes() != n || string(in) != string(pattern(n, 2)) {
				return fmt.Errorf("self, %d bytes: %+v %w", n, st, err)
			}
		}
		st, err := mpi.Recv(c, make([]int, 3), mpi.ProcNull, 5)
		if err != nil || st.Source != mpi.ProcNull || mpi.Count[int](st) != 0 {
			return fmt.Errorf("from ProcNull: %+v %w", st, err)
		}
		return mpi.Send(c, []int{1}, mpi.ProcNull, 5)
	}))
}

func TestBuffersSurviveStackGrowthAndCollection(t *testing.T) {
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		var local [20000]byte
		if c.Rank() == 1 {
			q, err := mpi.Irecv(c, local[:], 0, 0)
			if err != nil {
				return err
			}
			grow(200)
			runtime.GC()
			if err := c.Barrier(); err != nil {
				return err
			}
			if _, err := q.Wait(); err != nil {
				return err
			}
			if string(local[:]) != string(pattern(len(local), 9)) {
				return errors.New("the data went elsewhere")
			}
			return nil
		}
		if err := c.Barrier(); err != nil {
			return err
		}
		return mpi.Send(c, pattern(len(local), 9), 1, 0)
	}))
}

func grow(n int) byte {
	var pad [4096]byte
	if n == 0 {
		return pad[0]
	}
	pad[n%4096] = grow(n - 1)
	return pad[0]
}
