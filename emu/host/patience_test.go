package host

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A rank that would soon have had what it slept for spins longer before it sleeps again,
// until a wait is long.
func TestPatience(t *testing.T) {
	f := attachAll(t, 1)[0]
	require.Equal(t, spinTime, f.patience)
	for f.patience != longSpin { // unless this process is kept from running
		f.Sleep(f.Mark() - 1)
	}
	mark := f.Mark()
	stop := f.Alarm(2 * longSpin)
	for f.Mark() == mark {
		f.Sleep(mark)
	}
	require.False(t, stop())
	require.Equal(t, spinTime, f.patience)
}
