package unignored

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

const again = "EXANET_TEST_AGAIN"

// This test, started with its signals ignored, starts a shell that sends some to itself.
func TestChildrenGetSignals(t *testing.T) {
	if os.Getenv(again) != "" {
		Signals()
		for _, name := range []string{"HUP", "INT", "QUIT", "TERM"} {
			out, err := exec.Command("sh", "-c", "ulimit -c 0; kill -"+name+" $$; echo survived").Output()
			require.Error(t, err, name)
			require.Empty(t, out, name)
		}
		return
	}
	self, err := os.Executable()
	require.NoError(t, err)
	c := exec.Command("sh", "-c", `trap "" HUP INT QUIT TERM; exec "$0" -test.run TestChildrenGetSignals`, self)
	c.Env = append(os.Environ(), again+"=1")
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
}
