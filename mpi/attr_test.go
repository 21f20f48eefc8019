package mpi_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

func TestAttributes(t *testing.T) {
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		var log []string
		counted := mpi.NewKeyval(func(old *mpi.Comm, v any) (any, bool, error) {
			return v.(int) + 1, true, nil
		}, func(_ *mpi.Comm, v any) error {
			log = append(log, "counted")
			return nil
		})
		shared := mpi.NewKeyval(mpi.CopyAlways, func(*mpi.Comm, any) error {
			log = append(log, "shared")
			return nil
		})
		private := mpi.NewKeyval(nil, nil)
		for i, v := range []*mpi.Keyval{counted, shared, private} {
			require.NoError(t, c.SetAttr(v, i))
		}
		d, err := c.Dup()
		if err != nil {
			return err
		}
		for v, want := range map[*mpi.Keyval]any{counted: 1, shared: 1, private: nil} {
			got, found, err := d.Attr(v)
			require.NoError(t, err)
			require.Equal(t, want != nil, found)
			require.Equal(t, want, got)
		}
		s, err := c.Split(0, 0)
		if err != nil {
			return err
		}
		_, found, err := s.Attr(shared)
		require.NoError(t, err)
		require.False(t, found, "only duplicates have them")

		require.NoError(t, d.SetAttr(counted, 7))
		require.Equal(t, []string{"counted"}, log, "the old value goes")
		require.NoError(t, d.Free())
		require.Equal(t, []string{"counted", "counted", "shared"}, log, "the last that was set goes first")
		require.NoError(t, c.DeleteAttr(shared))
		require.NoError(t, c.DeleteAttr(shared), "is not there any more")
		require.Len(t, log, 4)

		shared.Free()
		require.ErrorIs(t, c.SetAttr(shared, 1), mpi.ErrKeyval)
		require.ErrorIs(t, c.SetAttr(nil, 1), mpi.ErrKeyval)
		require.ErrorIs(t, c.SetAttr(mpi.TagUB, 1), mpi.ErrKeyval)
		require.ErrorIs(t, c.DeleteAttr(mpi.TagUB), mpi.ErrKeyval)
		_, _, err = c.Attr(nil)
		require.ErrorIs(t, err, mpi.ErrKeyval)
		_, _, err = d.Attr(private)
		require.ErrorIs(t, err, mpi.ErrComm)
		return nil
	}))
}

func TestPredefinedAttributes(t *testing.T) {
	require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
		for v, want := range map[*mpi.Keyval]any{
			mpi.TagUB: mpi.MaxTag, mpi.UniverseSize: 3, mpi.WtimeIsGlobal: true,
			mpi.Host: mpi.ProcNull, mpi.IO: mpi.AnySource, mpi.AppNum: 0,
		} {
			got, found, err := c.Attr(v)
			require.NoError(t, err)
			require.True(t, found)
			require.Equal(t, want, got)
		}
		return nil
	}))
}

func TestAttributesThatRefuse(t *testing.T) {
	no := errors.New("no")
	deleted := make([]int, 2)
	err := mpi.Run(2, func(c *mpi.Comm) error {
		stubborn := mpi.NewKeyval(func(*mpi.Comm, any) (any, bool, error) { return nil, false, no },
			func(*mpi.Comm, any) error { return no })
		require.NoError(t, c.SetAttr(stubborn, 1))
		_, err := c.Dup()
		require.ErrorIs(t, err, no)
		require.ErrorIs(t, c.DeleteAttr(stubborn), no)
		_, found, err := c.Attr(stubborn)
		require.NoError(t, err)
		require.True(t, found)
		// What Self has goes in Finalize.
		return c.Self().SetAttr(mpi.NewKeyval(nil, func(s *mpi.Comm, v any) error {
			deleted[v.(int)]++
			return s.Barrier() // calls can be made still
		}), c.Rank())
	})
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, deleted)
}

func TestNamesAndErrorHandlers(t *testing.T) {
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		require.Equal(t, "MPI_COMM_WORLD", c.Name())
		require.Equal(t, "MPI_COMM_NULL", (*mpi.Comm)(nil).Name())
		d, err := c.Dup()
		if err != nil {
			return err
		}
		require.Empty(t, d.Name())
		require.NoError(t, d.SetName("halo"))
		require.Equal(t, "halo", d.Name())

		require.Same(t, mpi.ErrorsReturn, d.Errhandler())
		mistake := mpi.Send(d, []int{1}, 9, 0)
		require.Same(t, mistake, d.CallErrhandler(mistake))
		require.NoError(t, d.CallErrhandler(nil))
		var seen error
		h := mpi.NewErrhandler(func(on *mpi.Comm, err error) error {
			seen = err
			return nil
		})
		require.NoError(t, d.SetErrhandler(h))
		e, err := d.Dup()
		if err != nil {
			return err
		}
		require.Same(t, h, e.Errhandler(), "inherited")
		require.NoError(t, e.CallErrhandler(mistake))
		require.Same(t, mistake, seen)
		require.ErrorIs(t, d.SetErrhandler(nil), mpi.ErrArg)
		require.NoError(t, d.Free())
		require.ErrorIs(t, d.SetName("x"), mpi.ErrComm)
		require.ErrorIs(t, d.SetErrhandler(h), mpi.ErrComm)
		return nil
	}))
}

func TestFatalErrorsEndARankOfRun(t *testing.T) {
	err := mpi.Run(2, func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			return c.Barrier()
		}
		if err := c.SetErrhandler(mpi.ErrorsAreFatal); err != nil {
			return err
		}
		return c.CallErrhandler(mpi.Send(c, []int{1}, 9, 0))
	})
	require.ErrorContains(t, err, "rank 0 called Abort with code 1")
}
