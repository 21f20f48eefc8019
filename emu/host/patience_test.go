package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A rank that would soon have had what it slept for spins longer before it sleeps again,
// until a wait is long, by more than waking up may have taken.
func TestPatience(t *testing.T) {
	f := attachAll(t, 1)[0]
	require.Equal(t, spinTime, f.patience)
	for try := 0; f.patience != longSpin; try++ { // this process may be kept from running meanwhile
		require.Less(t, try, 1000)
		f.Sleep(f.Mark() - 1)
	}
	sleep := func(d time.Duration) {
		mark := f.Mark()
		stop := f.Alarm(d)
		for f.Mark() == mark {
			f.Sleep(mark)
		}
		stop()
	}
	for try := 0; f.patience != spinTime; try++ {
		require.Less(t, try, 1000)
		sleep(2 * longSpin)
	}
	for try := 0; f.patience != longSpin; try++ {
		require.Less(t, try, 1000)
		f.patience = spinTime
		sleep(longSpin)
	}
}
