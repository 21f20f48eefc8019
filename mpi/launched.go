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

// takeLauncher returns the launcher, whose caller is the last to call it.
func takeLauncher() *pmi.Client {
	launcher.Lock()
	defer launcher.Unlock()
	c := launcher.Client
	launcher.Client = nil
	return c
}

// leaveLauncher says that this process is about to end in good order.
func leaveLauncher() error {
	if c := takeLauncher(); c != nil {
		return c.Finalize(context.Background())
	}
	return nil
}

// abortLauncher has all ranks ended with a code. This process is to end with it as well, so an error is of no use.
func abortLauncher(code int) {
	if c := takeLauncher(); c != nil {
		time.Sleep(linger)
		_ = c.Abort(code)
	}
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
	abortLauncher(1)
}

// Excused implements meet.Launcher.
func (l *cardsOf) Excused() int { return 0 }
