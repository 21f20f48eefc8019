package mpi

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/exanet-mpi/exanet/internal/pmi"
)

// Jobs of other launchers: MPICH's mpirun, Slurm's srun, and with package mpi/pmix Open MPI's mpirun. The launcher
// tells a process its rank and shows the ranks each other's cards; then they meet as package meet has it.

// launcher is what has started this process, nil if that is not such a launcher.
var launcher struct {
	sync.Mutex
	*pmi.Client
}

// openLauncher finds the launcher that the environment names. There may be none.
func openLauncher() (*pmi.Client, error) {
	c, err := pmi.Open(context.Background())
	if err != nil || c == nil {
		return nil, err
	}
	launcher.Lock()
	defer launcher.Unlock()
	launcher.Client = c
	return c, nil
}

// linger is how long a rank that aborts waits: Hydra may end before it has shown what the ranks say last.
const linger = 100 * time.Millisecond

// leaveLauncher says that this process ends in good order, or with a code, unless it is 0.
func leaveLauncher(code int) error {
	launcher.Lock()
	c := launcher.Client
	launcher.Client = nil
	launcher.Unlock()
	switch {
	case c == nil:
		return nil
	case code != 0:
		time.Sleep(linger)
		return c.Abort(code)
	}
	return c.Finalize(context.Background())
}

// cardsOf is how ranks meet by a launcher (meet.Launcher).
type cardsOf struct {
	*pmi.Client
	n int // times that they have shown each other something
}

// Gather implements meet.Launcher.
func (l *cardsOf) Gather(mine []byte) ([][]byte, error) {
	l.n++
	return l.AllGather(context.Background(), fmt.Sprint("meet", l.n), mine)
}

// Excuse implements meet.Launcher. Nobody would hear it, so the launcher is told to end the job.
func (l *cardsOf) Excuse(_ int, why error) {
	fmt.Fprintf(os.Stderr, "exanet: rank %d could not join the others: %v\n", l.Rank, why)
	_ = leaveLauncher(1)
}

// Excused implements meet.Launcher.
func (l *cardsOf) Excused() int { return 0 }
