package mpi_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

func TestMistakesAreErrorsThatSayWhatToDo(t *testing.T) {
	type hasPointer struct{ p *int }
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		v := []int{1}
		for name, check := range map[string]struct {
			err  error
			want error
			text string
		}{
			"rank too large":     {mpi.Send(c, v, 2, 0), mpi.ErrRank, "ranks of this communicator are 0 to 1"},
			"any source sent to": {mpi.Send(c, v, mpi.AnySource, 0), mpi.ErrRank, "0 to 1"},
			"negative tag":       {mpi.Send(c, v, 0, -1), mpi.ErrTag, "tags are 0 to"},
			"pointers":           {mpi.Send(c, []hasPointer{{}}, 0, 0), mpi.ErrType, "hasPointer"},
			"strings":            {mpi.Send(c, []string{"x"}, 0, 0), mpi.ErrType, "string"},
			"no communicator":    {mpi.Send(nil, v, 0, 0), mpi.ErrComm, "Init"},
			"empty communicator": {mpi.Send(&mpi.Comm{}, v, 0, 0), mpi.ErrComm, "Init"},
			"bad root":           {mpi.Bcast(c, v, 7), mpi.ErrRoot, "0 to 1"},
			"short recv":         {mpi.Allreduce(c, v, nil, mpi.Sum), mpi.ErrCount, "as long as"},
			"operator":           {mpi.Allreduce(c, []float64{1}, []float64{0}, mpi.Band), mpi.ErrOp, "Band"},
			"other operator": {mpi.Allreduce(c, v, v, mpi.NewOp(func(in, inout []int8) {}, true)), mpi.ErrOp,
				"int8"},
		} {
			if !errors.Is(check.err, check.want) {
				return errors.New(name + ": wrong or no error")
			}
			require.ErrorContains(t, check.err, check.text, name)
		}
		return nil
	}))
	require.ErrorIs(t, mpi.Run(0, nil), mpi.ErrInit)
	require.ErrorIs(t, mpi.Run(1, nil, mpi.WithVariant("nonsense")), mpi.ErrInit)
	require.NoError(t, mpi.Run(1, func(*mpi.Comm) error { return nil }, nil))
}

func TestCallsAfterFinalizeAreErrors(t *testing.T) {
	var world *mpi.Comm
	var left *mpi.Request
	require.NoError(t, mpi.Run(1, func(c *mpi.Comm) error {
		world = c
		var err error
		left, err = mpi.Irecv(c, make([]byte, 1), 0, 0)
		return err
	}))
	_, err := left.Wait()
	require.ErrorIs(t, err, mpi.ErrRequest)
	require.ErrorIs(t, mpi.WaitAll(left), mpi.ErrRequest)
	_, _, err = mpi.WaitAny(left)
	require.ErrorIs(t, err, mpi.ErrRequest)
	_, err = mpi.Recv(world, make([]byte, 1), 0, 0)
	require.ErrorIs(t, err, mpi.ErrComm)
	require.ErrorIs(t, world.Barrier(), mpi.ErrComm)
	_, err = world.Probe(0, 0)
	require.ErrorIs(t, err, mpi.ErrComm)
}

func TestInertRequestsAndNamedTypes(t *testing.T) {
	type celsius float64
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		hottest := []celsius{0}
		if err := mpi.Allreduce(c, []celsius{celsius(c.Rank()) + 20}, hottest, mpi.Max); err != nil {
			return err
		}
		require.Equal(t, celsius(21), hottest[0])
		q, err := mpi.Isend(c, []int{1, 2}, c.Rank(), 3)
		require.NoError(t, err)
		_, err = q.Wait()
		require.NoError(t, err)
		st, err := q.Wait()
		require.NoError(t, err)
		require.Equal(t, mpi.Status{Source: mpi.AnySource, Tag: mpi.AnyTag}, st)
		require.ErrorIs(t, q.Cancel(), mpi.ErrRequest)
		require.NoError(t, mpi.WaitAll(nil, q))
		i, _, err := mpi.WaitAny(nil, q)
		require.NoError(t, err)
		require.Equal(t, -1, i)
		st, err = mpi.Recv(c, make([]int, 5), c.Rank(), 3)
		require.NoError(t, err)
		require.Equal(t, 2, mpi.Count[int](st))
		require.Equal(t, -1, mpi.Count[[3]byte](st))
		return nil
	}))
}

func TestADeadRankIsReported(t *testing.T) {
	failure := errors.New("rank 1 has had enough")
	for _, variant := range mpi.Variants() {
		if variant == "optimistic" {
			continue // any source and Probe are not for it, see optimistic_test.go
		}
		t.Run(variant, func(t *testing.T) {
			err := mpi.Run(3, func(c *mpi.Comm) error {
				if c.Rank() == 1 {
					return failure
				}
				if c.Rank() == 0 {
					_, err := mpi.Recv(c, make([]byte, 10), 1, 0)
					require.ErrorIs(t, err, mpi.ErrProcFailed)
					return mpi.Send(c, make([]byte, 100_000), 1, 0)
				}
				q, err := mpi.Irecv(c, make([]byte, 100_000), mpi.AnySource, 0)
				require.NoError(t, err)
				_, err = q.Wait()
				require.ErrorIs(t, err, mpi.ErrProcFailed)
				_, err = c.Probe(1, 5)
				return err
			}, mpi.WithVariant(variant))
			require.ErrorIs(t, err, failure)
			require.NotErrorIs(t, err, mpi.ErrProcFailed, "only the cause is reported")
		})
	}
}
