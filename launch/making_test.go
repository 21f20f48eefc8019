package launch_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/launch"
	"github.com/exanet-mpi/exanet/mpi"

	"github.com/exanet-mpi/exanet/test/collect"
)

func init() { roles["making"] = makingRole }

const made = "has made it"

// makings are the ways to make a communicator. Some need others, which they make
// before the death.
var makings = []func(w *mpi.Comm) (how func() (*mpi.Comm, error), err error){
	func(w *mpi.Comm) (func() (*mpi.Comm, error), error) { return w.Dup, nil },
	func(w *mpi.Comm) (func() (*mpi.Comm, error), error) {
		return func() (*mpi.Comm, error) { return w.Split(w.Rank()%2, -w.Rank()) }, nil
	},
	func(w *mpi.Comm) (func() (*mpi.Comm, error), error) {
		return func() (*mpi.Comm, error) { return w.CreateGroup(w.Group(), 3) }, nil
	},
	func(w *mpi.Comm) (func() (*mpi.Comm, error), error) {
		return func() (*mpi.Comm, error) {
			return w.DistGraph([]mpi.Edge{{From: w.Rank(), To: 0}}, false, false)
		}, nil
	},
	twoHalves,
	func(w *mpi.Comm) (func() (*mpi.Comm, error), error) {
		join, err := twoHalves(w)
		if err != nil {
			return nil, err
		}
		inter, err := join()
		return func() (*mpi.Comm, error) { return inter.Merge(false) }, err
	},
	func(w *mpi.Comm) (func() (*mpi.Comm, error), error) {
		join, err := twoHalves(w)
		if err != nil {
			return nil, err
		}
		inter, err := join()
		return func() (*mpi.Comm, error) { return inter.Dup() }, err
	},
}

// twoHalves makes an intercommunicator whose leaders are neither the first nor
// the last ranks.
func twoHalves(w *mpi.Comm) (func() (*mpi.Comm, error), error) {
	half, err := w.Split(w.Rank()/3, 0)
	return func() (*mpi.Comm, error) { return half.InterCreate(1, w, (w.Rank()/3*3+4)%6, 0) }, err
}

// makingRole makes one communicator, in the way args[0], while rank args[1] dies
// args[2] ns after it has begun, and stays: nobody hears from its end.
func makingRole(args []string) int {
	var n [3]int
	for i := range n {
		n[i], _ = strconv.Atoi(args[i])
	}
	world, err := mpi.Init()
	if err != nil {
		fmt.Println(unexpected, err)
		return 4
	}
	how, err := makings[n[0]](world)
	if err == nil {
		err = world.Barrier()
	}
	if world.Rank() == n[1] {
		go func() {
			for began := time.Now(); time.Since(began) < time.Duration(n[2]); {
			}
			_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		}()
	}
	if err == nil {
		_, err = how()
	}
	switch {
	case err == nil:
		fmt.Println(made)
	case errors.Is(err, mpi.ErrProcFailed):
		fmt.Println(sawDeath)
	default:
		fmt.Println(unexpected, err)
	}
	select {}
}

// Nobody hangs in the making of a communicator because a rank dies meanwhile,
// not even if nobody else ends for that.
func TestKillARankWhileACommunicatorIsMade(t *testing.T) {
	defer launch.BePatient(time.Hour)()
	times := 84
	if testing.Short() {
		times = 14
	}
	const ranks = 6
	outcomes := make(map[string]int)
	for i := range times {
		way, victim, delay := i%len(makings), rand.IntN(ranks), rand.IntN(400_000)
		var out, errs collect.Buffer
		cfg := self(ranks, "making")
		cfg.Args = []string{fmt.Sprint(way), fmt.Sprint(victim), fmt.Sprint(delay)}
		cfg.Stdout, cfg.Stderr = &out, &errs
		j, err := launch.Start(t.Context(), cfg)
		require.NoError(t, err)
		say := func() string {
			return fmt.Sprintf("way %d, rank %d dies after %d ns:\n%s%s", way, victim, delay, out.String(),
				errs.String())
		}
		for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			lines := strings.Count(out.String(), made) + strings.Count(out.String(), sawDeath)
			if lines >= ranks-1 {
				break
			}
			if time.Now().After(end) {
				j.Report()
				time.Sleep(time.Second)
				break
			}
		}
		for rank := range ranks {
			_ = syscall.Kill(j.Pid(rank), syscall.SIGKILL)
		}
		_ = j.Wait()
		require.NotContains(t, out.String(), unexpected, say())
		lines := strings.Count(out.String(), made) + strings.Count(out.String(), sawDeath)
		require.GreaterOrEqual(t, lines, ranks-1, say())
		outcomes[made] += strings.Count(out.String(), made)
		outcomes[sawDeath] += strings.Count(out.String(), sawDeath)
	}
	t.Log(outcomes)
	requireNoChildren(t)
}
