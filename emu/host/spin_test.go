package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A rank that would soon have had what it slept for spins longer before it sleeps again,
// until a wait is long, by more than waking up may have taken.
func TestSpinBudget(t *testing.T) {
	f := attachAll(t, 1)[0]
	require.Equal(t, spinTime, f.spinBudget)
	for try := 0; f.spinBudget != longSpin; try++ { // this process may be kept from running meanwhile
		require.Less(t, try, 1000)
		f.Sleep(f.Mark() - 1)
	}
	for try := 0; f.spinBudget != spinTime; try++ {
		require.Less(t, try, 1000)
		mark := f.Mark()
		timer := time.AfterFunc(2*longSpin, f.WakeForeground)
		for f.Mark() == mark {
			f.Sleep(mark)
		}
		timer.Stop()
	}
}

// What counts is the time until the bell rang. Waking up may have taken a while more.
func TestSpinBudgetAfter(t *testing.T) {
	for waited, budget := range map[time.Duration]time.Duration{
		0:                     longSpin,
		spinTime + longSpin:   longSpin,
		longSpin + wakeUp:     longSpin,
		longSpin + wakeUp + 1: spinTime,
		longSpin + longSpin:   spinTime,
	} {
		require.Equal(t, budget, spinBudgetAfter(waited), waited)
	}
}
