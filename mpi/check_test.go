//go:build !optimistic

// The protocol optimistic has checks of its own, which do not all come to their end beside these (docs/checking.md).

package mpi_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/mpi"
)

// findings runs a program in the checking mode and returns what the mode reports. What the program
// returns is no matter: many of these can not end well.
func findings(n int, main func(c *mpi.Comm) error, opts ...mpi.Option) (lines []string) {
	var mu sync.Mutex
	opts = append(opts, mpi.WithFindings(func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}))
	_ = mpi.Run(n, main, opts...)
	return lines
}

// hasty has deadlocks looked for after less than the seconds that a Go program has.
var hasty = mpi.WithPatience(40 * time.Millisecond)

// planted are programs with one mistake each, and what is to be found. The numbers are those of the table in
// docs/checking.md.
var planted = []struct {
	number int
	ranks  int
	finds  string // a regular expression
	main   func(c *mpi.Comm) error
}{
	{1, 2, `^rank 1 receives from rank 0, tag 4: different types: Send \(check_test.go:\d+\) sent 2 float32, ` +
		`Recv \(check_test.go:\d+\) expects 1 float64$`, func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return mpi.Send(c, []float32{1, 2}, 1, 4)
		}
		_, err := mpi.Recv(c, make([]float64, 1), mpi.AnySource, mpi.AnyTag)
		return err
	}},
	{2, 2, `different types: .* 1 structs of 3 elements`, func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return mpi.Send(c, []struct {
				A, B int32
				X    float64
			}{{}}, 1, 0)
		}
		_, err := mpi.Recv(c, make([]struct {
			X    float64
			A, B int32
		}, 1), 0, 0)
		return err
	}},
	{3, 2, `^rank 1: a message from rank 0, tag 0, of 80 bytes is too long for Irecv \(check_test.go:\d+\) of 40`,
		func(c *mpi.Comm) error {
			if c.Rank() == 0 {
				return mpi.Send(c, make([]float64, 10), 1, 0)
			}
			q, err := mpi.Irecv(c, make([]float64, 5), 0, 0)
			if err == nil {
				_, err = q.Wait()
			}
			return err
		}},
	{4, 3, `^MPI_COMM_WORLD: different calls: rank 0: Bcast of 4 float64, root 0 \(check_test.go:\d+\); ` +
		`ranks 1-2: Barrier \(check_test.go:\d+\)$`, func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return mpi.Bcast(c, make([]float64, 4), 0)
		}
		return c.Barrier()
	}},
	{5, 3, `different roots: rank 0: Reduce Sum of 1 int32, root 0 .*; rank 1: .* root 1 .*; rank 2: .* root 2`,
		func(c *mpi.Comm) error { return mpi.Reduce(c, []int32{1}, make([]int32, 1), mpi.Sum, c.Rank()) }},
	{6, 3, `different operators: ranks 0, 2: Allreduce Sum of 1 .*; rank 1: Allreduce Max`, func(c *mpi.Comm) error {
		op := mpi.Sum
		if c.Rank() == 1 {
			op = mpi.Max
		}
		return mpi.Allreduce(c, nil, []int64{1}, op)
	}},
	{7, 2, `different counts: rank 0: Allgather of 1 int32 .*; rank 1: Allgather of 2 int32`, func(c *mpi.Comm) error {
		n := 1 + c.Rank()
		return mpi.Allgather(c, make([]int32, n), make([]int32, 2*n))
	}},
	{8, 2, `different types: rank 0: Bcast of 2 float64, root 0 .*; rank 1: Bcast of 2 int64, root 0`,
		func(c *mpi.Comm) error {
			if c.Rank() == 0 {
				return mpi.Bcast(c, make([]float64, 2), 0)
			}
			return mpi.Bcast(c, make([]int64, 2), 0)
		}},
	{9, 2, `different calls: rank 0: Barrier .*; rank 1: Ibarrier`, func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return c.Barrier()
		}
		q, err := c.Ibarrier()
		if err == nil {
			_, err = q.Wait()
		}
		return err
	}},
	{10, 2, `different roots: rank 0: Ibcast of 1 int32, root 0 .*; rank 1: Ibcast of 1 int32, root 1`,
		func(c *mpi.Comm) error {
			q, err := mpi.Ibcast(c, make([]int32, 1), c.Rank())
			if err == nil {
				_, err = q.Wait()
			}
			return err
		}},
	{11, 2, `different calls: rank 0: Finalize; rank 1: Barrier \(check_test.go:\d+\)`, func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return nil
		}
		return c.Barrier()
	}},
	{12, 1, `^rank 0: Irecv \(check_test.go:\d+\) writes to memory that the pending Irecv \(.*\) writes to$`,
		func(c *mpi.Comm) error {
			b := make([]int32, 10)
			p, err := mpi.Irecv(c, b[:6], 0, 0)
			if err != nil {
				return err
			}
			q, err := mpi.Irecv(c, b[5:], 0, 1)
			if err != nil {
				return err
			}
			for tag, n := range []int{6, 5} {
				if err := mpi.Send(c, make([]int32, n), 0, tag); err != nil {
					return err
				}
			}
			return mpi.WaitAll(p, q)
		}},
	{13, 1, `Recv \(.*\) writes to memory that the pending Isend \(.*\) sends from`, func(c *mpi.Comm) error {
		b := make([]int32, 1)
		q, err := mpi.Isend(c, b, 0, 0)
		if err != nil {
			return err
		}
		if _, err := mpi.Recv(c, b, 0, 0); err != nil {
			return err
		}
		_, err = q.Wait()
		return err
	}},
	{14, 1, `IrecvData \(.*\) writes to memory that the pending IrecvData \(.*\) writes to`, func(c *mpi.Comm) error {
		column, err := datatype.Vector(4, 1, 4, datatype.Float64)
		if err != nil {
			return err
		}
		m := make([]float64, 20)
		p, err := c.IrecvData(mpi.With(m, 1, column), 0, 0)
		if err != nil {
			return err
		}
		q, err := c.IrecvData(mpi.With(m[4:], 1, column), 0, 1)
		if err != nil {
			return err
		}
		for tag := range 2 {
			if err := mpi.Send(c, make([]float64, 4), 0, tag); err != nil {
				return err
			}
		}
		return mpi.WaitAll(p, q)
	}},
	{15, 2, `^rank 0: the data of Isend \(check_test.go:\d+\) were changed before it was waited for$`,
		func(c *mpi.Comm) error {
			b := make([]int32, 1)
			if c.Rank() == 1 {
				_, err := mpi.Recv(c, b, 0, 0)
				return err
			}
			q, err := mpi.Isend(c, b, 1, 0)
			if err != nil {
				return err
			}
			b[0] = 7
			_, err = q.Wait()
			return err
		}},
	{16, 2, `^rank 0: the request of Irecv \(check_test.go:\d+\) was not waited for when Finalize was called$`,
		func(c *mpi.Comm) error {
			if c.Rank() == 0 {
				_, err := mpi.Irecv(c, make([]int32, 1), 1, 0)
				return err
			}
			return nil
		}},
	{17, 2, `^rank 1: a message from rank 0, tag 7, was never received: Send of 3 int16 \(check_test.go:\d+\)$`,
		func(c *mpi.Comm) error {
			if c.Rank() == 0 {
				return mpi.Send(c, make([]int16, 3), 1, 7)
			}
			return nil
		}},
	{18, 3, `^deadlock: rank 0 waits in Recv from rank 1, tag 9 \(check_test.go:\d+\); rank 1 waits in Recv from ` +
		`rank 2, tag 9 \(.*\); rank 2 waits in Recv from rank 0, tag 9 \(.*\)$`, func(c *mpi.Comm) error {
		_, err := mpi.Recv(c, make([]int32, 1), (c.Rank()+1)%3, 9)
		return err
	}},
	{19, 2, `^deadlock: rank 0 waits in Send to rank 1, tag 0 \(.*\); rank 1 waits in Send to rank 0, tag 0 \(.*\)$`,
		func(c *mpi.Comm) error {
			b := make([]byte, 1<<20)
			if err := mpi.Send(c, b, 1-c.Rank(), 0); err != nil {
				return err
			}
			_, err := mpi.Recv(c, b, 1-c.Rank(), 0)
			return err
		}},
	{20, 3, `^deadlock: rank 0 waits in Barrier on MPI_COMM_WORLD \(.*\); rank 1 waits in Probe from rank 0, ` +
		`any tag \([^)]*\)(; rank 2 in WaitAny for Irecv from any source, tag 1 \(.*\))?$`, func(c *mpi.Comm) error {
		switch c.Rank() {
		case 0:
			return c.Barrier()
		case 1:
			_, err := c.Probe(0, mpi.AnyTag)
			return err
		}
		q, err := mpi.Irecv(c, make([]int32, 1), mpi.AnySource, 1)
		if err == nil {
			_, _, err = mpi.WaitAny(q)
		}
		return err
	}},
}

// Each planted mistake is found, once, and nothing else.
func TestPlantedMistakesAreFound(t *testing.T) {
	for _, p := range planted {
		lines := findings(p.ranks, p.main, hasty)
		if assert.Len(t, lines, 1, "mistake %d: %v", p.number, lines) {
			assert.Regexp(t, p.finds, lines[0], "mistake %d", p.number)
		}
	}
}

// Messages know their types with each protocol, long ones and such as the device takes at once.
func TestPlantedMistakesAreFoundWithEachProtocol(t *testing.T) {
	for _, variant := range mpi.Variants() {
		for _, device := range []string{"host", "prototype"} {
			for _, n := range []int{2, 1 << 18} {
				lines := findings(2, func(c *mpi.Comm) error {
					if c.Rank() == 0 {
						return mpi.Send(c, make([]int32, n), 1, 0)
					}
					_, err := mpi.Recv(c, make([]float32, n), 0, 0)
					return err
				}, mpi.WithVariant(variant), mpi.WithDevice(device))
				require.Len(t, lines, 1, "%s on %s: %v", variant, device, lines)
				require.Contains(t, lines[0], "different types")
			}
		}
	}
}

// A deadlock ends the calls with an error that says so.
func TestADeadlockIsAnError(t *testing.T) {
	errs := make([]error, 2)
	lines := findings(2, func(c *mpi.Comm) error {
		_, errs[c.Rank()] = mpi.Recv(c, make([]int32, 1), 1-c.Rank(), 0)
		return errs[c.Rank()]
	}, hasty)
	require.Len(t, lines, 1)
	for _, err := range errs {
		require.ErrorIs(t, err, mpi.ErrDeadlock)
	}
}

// On several hosts mistakes are found as on one; of deadlocks, those that are within a host.
func TestPlantedMistakesAreFoundOnHosts(t *testing.T) {
	for _, p := range planted {
		if p.number >= 18 {
			continue
		}
		lines := findings(p.ranks, p.main, hasty, mpi.WithRanksAHost(1))
		if assert.Len(t, lines, 1, "mistake %d: %v", p.number, lines) {
			assert.Regexp(t, p.finds, lines[0], "mistake %d", p.number)
		}
	}
	lines := findings(3, func(c *mpi.Comm) error {
		if c.Rank() == 2 { // on another host: it computes, for all that the others know
			_, err := mpi.Recv(c, make([]int32, 1), 1, 0)
			return err
		}
		_, err := mpi.Recv(c, make([]int32, 1), 1-c.Rank(), 0)
		return err
	}, hasty, mpi.WithRanksAHost(2))
	require.Len(t, lines, 1)
	require.Regexp(t, `^deadlock: rank 0 waits in Recv from rank 1, .*; rank 1 waits in Recv from rank 0, \S+ \d+ \S+$`,
		lines[0])
}

// A function that has no goroutine yet frees ranks that all wait.
func TestATimersFunctionFreesRanks(t *testing.T) {
	require.Empty(t, findings(2, func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			time.AfterFunc(time.Second, func() { assert.NoError(t, mpi.Send(c, []int32{1}, 1, 0)) })
		}
		_, err := mpi.Recv(c, make([]int32, 1), 1-c.Rank(), 0)
		if assert.NoError(t, err) && c.Rank() == 1 {
			err = mpi.Send(c, []int32{1}, 0, 0)
		}
		return err
	}))
}

// What a rank waits for has the program's size.
func TestReportsDoNotCountCards(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := mpi.Run(2, func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			_, err := mpi.Recv(c, make([]int32, 1), 0, 0)
			cancel()
			return err
		}
		q, err := mpi.Irecv(c, make([]int32, 5), 1, 7)
		if err != nil {
			return err
		}
		if err := mpi.Send(c, []int32{1}, 1, 0); err != nil {
			return err
		}
		_, err = q.Wait()
		return err
	}, mpi.WithFindings(func(string) {}), mpi.WithContext(ctx))
	require.ErrorContains(t, err, "rank 0 receive from rank 1, tag 7, 20 bytes:")
}

// Calls that do not match are not performed, and an error at all ranks.
func TestAMismatchIsAnErrorOfAll(t *testing.T) {
	const n = 4
	errs, data := make([]error, n), make([][]int32, n)
	findings(n, func(c *mpi.Comm) error {
		r := c.Rank()
		data[r] = []int32{int32(r)}
		errs[r] = mpi.Bcast(c, data[r], r/2)
		return c.Barrier()
	})
	for r, err := range errs {
		require.ErrorIs(t, err, mpi.ErrCount, r)
		require.Equal(t, []int32{int32(r)}, data[r])
	}
}

// Programs without mistakes, of the kinds that might seem to have some.
func TestNothingIsFoundWhereNothingIs(t *testing.T) {
	column, err := datatype.Vector(4, 1, 2, datatype.Float64)
	require.NoError(t, err)
	for name, main := range map[string]func(c *mpi.Comm) error{
		"columns that interleave": func(c *mpi.Comm) error {
			m := make([]float64, 8)
			p, err := c.IrecvData(mpi.With(m, 1, column), 0, 0)
			if err != nil {
				return err
			}
			q, err := c.IrecvData(mpi.With(m[1:], 1, column), 0, 1)
			if err != nil {
				return err
			}
			if c.Rank() == 0 {
				for to := range c.Size() {
					for tag := range 2 {
						if err := mpi.Send(c, make([]float64, 4), to, tag); err != nil {
							return err
						}
					}
				}
			}
			return mpi.WaitAll(p, q)
		},
		"a goroutine that comes late": func(c *mpi.Comm) error {
			if c.Rank() > 0 {
				if _, err := mpi.Recv(c, make([]int32, 1), 0, 0); err != nil {
					return err
				}
				return mpi.Send(c, []int32{1}, 0, 1)
			}
			late := make(chan error, 1)
			go func() {
				for to := 1; to < c.Size(); to++ {
					time.Sleep(150 * time.Millisecond)
					if err := mpi.Send(c, []int32{1}, to, 0); err != nil {
						late <- err
					}
				}
				close(late)
			}()
			for range c.Size() - 1 {
				if _, err := mpi.Recv(c, make([]int32, 1), mpi.AnySource, 1); err != nil {
					return err
				}
			}
			return <-late
		},
		"a rank that computes": func(c *mpi.Comm) error {
			if c.Rank() == 0 {
				time.Sleep(300 * time.Millisecond)
			}
			if err := c.Barrier(); err != nil {
				return err
			}
			b := make([]byte, 1<<20)
			_, err := mpi.Sendrecv(c, b, (c.Rank()+1)%c.Size(), 0, make([]byte, 1<<20), mpi.AnySource, 0)
			return err
		},
		"unlike calls of other communicators": func(c *mpi.Comm) error {
			d, err := c.Split(c.Rank()%2, 0)
			if err != nil {
				return err
			}
			defer d.Free()
			v := make([]int32, 1+c.Rank()%2)
			for range 100 {
				if err := mpi.Bcast(d, v, d.Size()-1); err != nil {
					return err
				}
			}
			return mpi.Allreduce(c, nil, []int32{1}, mpi.Sum)
		},
		"bytes of what Pack makes": func(c *mpi.Comm) error {
			b, x := make([]byte, 32), make([]float64, 8)
			if _, err := mpi.Pack(mpi.With(x, 1, column), b, 0); err != nil {
				return err
			}
			to, from := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
			_, err := c.SendrecvData(mpi.Of(b), to, 0, mpi.With(x, 1, column), from, 0)
			return err
		},
		"values": func(c *mpi.Comm) error {
			if err := mpi.SendValue(c, int64(c.Rank()), (c.Rank()+1)%c.Size(), 0); err != nil {
				return err
			}
			if _, _, err := mpi.RecvValue[int64](c, mpi.AnySource, 0); err != nil {
				return err
			}
			if c.Rank()%2 == 0 { // since the prototype's device takes no text at once
				return mpi.SendValue(c, "text", c.Rank()+1, 1)
			}
			_, _, err := mpi.RecvValue[string](c, mpi.AnySource, 1)
			return err
		},
		"persistent requests": func(c *mpi.Comm) error {
			out, in := make([]int32, 4), make([]int32, 4)
			q, err := mpi.SendInit(c, out, (c.Rank()+1)%c.Size(), 0)
			if err != nil {
				return err
			}
			defer q.Free()
			r, err := mpi.RecvInit(c, in, (c.Rank()+c.Size()-1)%c.Size(), 0)
			if err != nil {
				return err
			}
			defer r.Free()
			for i := range int32(10) {
				out[0] = i
				if err := mpi.StartAll(q, r); err != nil {
					return err
				}
				if err := mpi.WaitAll(q, r); err != nil {
					return err
				}
				if in[0] != i {
					return mpi.ErrArg
				}
			}
			return nil
		},
	} {
		for _, device := range []string{"host", "prototype"} {
			lines := findings(4, func(c *mpi.Comm) error {
				err := main(c)
				require.NoError(t, err, name)
				return err
			}, mpi.WithDevice(device), hasty)
			require.Empty(t, lines, "%s: %s", name, strings.Join(lines, "\n"))
		}
	}
}
