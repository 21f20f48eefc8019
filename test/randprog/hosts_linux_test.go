package randprog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/test/netns"
)

// Two ranks on each of three hosts. The flag -programs says how many they play.
func TestProcessesOnHosts(t *testing.T) {
	w := netns.New(t, 3)
	for _, p := range playsOfProcesses() {
		j := jobs{spread, w.Enter(0), []string{"EXANET_DEVICE=network", shellVar + "=" + w.Shell()}, 1, 12}
		if p.name == mpi.DefaultVariant {
			j.programs = 60
		}
		if testing.Short() {
			j.programs /= 6
		}
		if *programsFlag > 0 {
			j.programs = *programsFlag
		}
		t.Run(p.name, func(t *testing.T) {
			var total Tally
			var c counters
			j.job(t, &p, 6, *firstFlag, &total, &c)
			t.Logf("%+v", total)
			require.NotZero(t, c.n["writes"])
		})
	}
}
