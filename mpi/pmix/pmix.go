// Package pmix lets programs that use mpi be started by launchers of PMIx, which are Open MPI's mpirun and Slurm's
// srun --mpi=pmix. A program imports it for that alone:
//
//	import _ "github.com/exanet-mpi/exanet/mpi/pmix"
//
// The protocol of PMIx is private to its library, so this package loads libpmix.so.2 when the launcher is one of PMIx,
// and calls it. A program with this package is linked dynamically, and needs the C library of its host; without it, a
// program is static where cgo is off.
//
// This file is the rank's place in the job and its keys and values, for internal/pmi; library.go loads the library,
// and layout.go has what goes to it.
package pmix

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/exanet-mpi/exanet/internal/pmi"
)

func init() { pmi.RegisterPMIx(open) }

// launcher is a pmi.Launcher by the library. The library's calls cannot be interrupted: where a context ends first, a
// call goes on in a goroutine of its own.
type launcher struct {
	lib *library
	me  process
}

// open joins the job that the environment names.
func open(ctx context.Context) (*pmi.Client, error) {
	lib, err := load()
	if err != nil {
		return nil, fmt.Errorf("the launcher is one of PMIx (PMIX_NAMESPACE=%s), and its library cannot be loaded: "+
			"%w: install it (Debian: libpmix2), or name its folder in LD_LIBRARY_PATH",
			os.Getenv("PMIX_NAMESPACE"), err)
	}
	l := &launcher{lib: lib, me: process{rank: noRank}}
	me := new(process) // the call's, also when it is late
	if err := l.wait(ctx, "PMIx_Init", func() status { return lib.init(me, nil, 0) }); err != nil {
		return nil, err
	}
	l.me = *me
	size, err := l.get(ctx, allRanks, jobSize)
	if err != nil {
		return nil, err
	}
	if me.rank >= size.number {
		return nil, fmt.Errorf("the launcher names rank %d in a job of %d ranks", me.rank, size.number)
	}
	return &pmi.Client{Rank: int(me.rank), Size: int(size.number), Job: text(me.space[:]), Launcher: l}, nil
}

// Limit is far above what internal/pmi puts: the library has none.
func (l *launcher) Limit() int { return 2 * pmi.MaxData }

func (l *launcher) Put(ctx context.Context, key, value string) error {
	return l.wait(ctx, "PMIx_Put", func() status { return l.lib.putString(key, value) })
}

// Fence also brings what all have put to the daemons of all hosts.
func (l *launcher) Fence(ctx context.Context) error {
	if err := l.wait(ctx, "PMIx_Commit", l.lib.commit); err != nil {
		return err
	}
	return l.wait(ctx, "PMIx_Fence", func() status { return l.lib.fence(nil, 0, collect(), 1) })
}

func (l *launcher) Get(ctx context.Context, rank int, key string) (string, error) {
	v, err := l.get(ctx, uint32(rank), key)
	return v.text, err
}

func (l *launcher) get(ctx context.Context, rank uint32, key string) (got, error) {
	from := &process{l.me.space, rank}
	v := new(got)
	err := l.wait(ctx, "PMIx_Get", func() status { return l.lib.getValue(from, key, v) })
	if err != nil {
		return got{}, err
	}
	return *v, nil
}

func (l *launcher) Finalize(ctx context.Context) error {
	return l.wait(ctx, "PMIx_Finalize", func() status { return l.lib.finalize(nil, 0) })
}

// Abort waits for the launcher, as this process's end could overtake the request.
func (l *launcher) Abort(code int) error {
	ctx, stop := context.WithTimeout(context.Background(), abortTakes)
	defer stop()
	return l.wait(ctx, "PMIx_Abort", func() status { return l.lib.abort(int32(code), "", nil, 0) })
}

// abortTakes is what a launcher may take to see that a rank aborts.
const abortTakes = 10 * time.Second

// wait makes a call of the library, and gives it up when the context ends.
func (l *launcher) wait(ctx context.Context, request string, call func() status) error {
	done := make(chan status, 1)
	go func() { done <- call() }()
	var err error
	select {
	case s := <-done:
		if s == success {
			return nil
		}
		err = &pmi.Refusal{Code: int(s), Message: l.lib.errorString(s)}
	case <-ctx.Done():
		err = pmi.Unanswered(ctx.Err())
	}
	rank := -1
	if l.me.rank != noRank {
		rank = int(l.me.rank)
	}
	return &pmi.Error{Rank: rank, Request: request, Err: err}
}
