package mpi_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

func TestErrorClasses(t *testing.T) {
	require.NoError(t, mpi.Run(1, func(c *mpi.Comm) error {
		q, err := mpi.Irecv(c, make([]byte, 1), 0, 1)
		if err != nil {
			return err
		}
		if err := mpi.Send(c, make([]byte, 2), 0, 1); err != nil {
			return err
		}
		_, truncated := q.Wait()
		for want, err := range map[string]error{
			"MPI_SUCCESS":      nil,
			"MPI_ERR_TRUNCATE": truncated,
			"MPI_ERR_TAG":      mpi.Send(c, []int{1}, 0, -1),
			"MPI_ERR_RANK":     mpi.Send(c, []int{1}, 1, 0),
			"MPI_ERR_COMM":     mpi.Send(nil, []int{1}, 1, 0),
			"MPI_ERR_TYPE":     mpi.Send(c, []string{""}, 0, 0),
			"MPI_ERR_REQUEST":  (*mpi.Request)(nil).Cancel(),
			"MPI_ERR_OTHER":    mpi.Finalize(),
			"MPI_ERR_UNKNOWN":  errors.ErrUnsupported,
			// A rank that can not go on sends something else.
			"MPIX_ERR_PROC_FAILED": fmt.Errorf("%w, so %w", mpi.ErrProcFailed, mpi.ErrTruncate),
		} {
			if got := mpi.ErrorClass(err).String(); got != want {
				return fmt.Errorf("%v is of class %s, want %s", err, got, want)
			}
			if text, err := c.ErrorString(mpi.ErrorClass(err)); err != nil || text == "" {
				return fmt.Errorf("%s: text %q, %w", want, text, err)
			}
		}
		return nil
	}))
}

func TestErrorCodesOfTheProgram(t *testing.T) {
	require.NoError(t, mpi.Run(1, func(c *mpi.Comm) error {
		class, err := c.AddErrorClass()
		require.NoError(t, err)
		code, err := c.AddErrorCode(class)
		require.NoError(t, err)
		require.NotEqual(t, class, code)
		require.NoError(t, c.AddErrorString(code, "the oven is cold"))
		text, err := c.ErrorString(code)
		require.NoError(t, err)
		require.Equal(t, "the oven is cold", text)
		e := fmt.Errorf("baking: %w", c.NewError(code))
		require.ErrorContains(t, e, text)
		require.Equal(t, class, mpi.ErrorClass(e))
		require.Equal(t, mpi.ClassTag, mpi.ErrorClass(c.NewError(mpi.ClassTag)))
		require.NoError(t, c.NewError(mpi.Success))

		_, err = c.AddErrorCode(code) // a code is no class
		require.ErrorIs(t, err, mpi.ErrArg)
		_, err = c.AddErrorCode(-1)
		require.ErrorIs(t, err, mpi.ErrArg)
		require.ErrorIs(t, c.AddErrorString(mpi.ClassTag, ""), mpi.ErrArg)
		require.ErrorIs(t, c.NewError(code+1), mpi.ErrArg)
		return nil
	}))
}

func TestAbortEndsRun(t *testing.T) {
	err := mpi.Run(3, func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			c.Abort(7)
		}
		return c.Barrier()
	})
	var aborted *mpi.AbortError
	require.ErrorAs(t, err, &aborted)
	require.Equal(t, mpi.AbortError{Rank: 1, Code: 7}, *aborted)
	require.Equal(t, "MPI_ERR_PROC_ABORTED", mpi.ErrorClass(err).String())
}

func TestEnvironment(t *testing.T) {
	require.False(t, mpi.Initialized())
	require.False(t, mpi.Finalized())
	require.False(t, mpi.IsThreadMain())
	began := mpi.Wtime()
	require.GreaterOrEqual(t, mpi.Wtime(), began)
	require.Positive(t, mpi.Wtick())
	name, err := mpi.ProcessorName()
	require.NoError(t, err)
	require.NotEmpty(t, name)
	require.Contains(t, mpi.LibraryVersion(), "Exanet MPI")
	require.NoError(t, mpi.Run(1, func(c *mpi.Comm) error {
		require.Equal(t, mpi.ThreadFunneled, c.ThreadLevel())
		require.Equal(t, "MPI_THREAD_FUNNELED", c.ThreadLevel().String())
		return nil
	}, mpi.WithThreadLevel(mpi.ThreadFunneled)))
}
