package standing

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/host"
)

// docs/standing-buffers.md has the numbers of the code.
func TestDocumentedNumbers(t *testing.T) {
	page, err := os.ReadFile("../../docs/standing-buffers.md")
	require.NoError(t, err)
	text := strings.Join(strings.Fields(string(page)), " ")
	for _, says := range []string{
		fmt.Sprintf("%d receives before it had the same", After),
		fmt.Sprintf("receives of up to %d KiB have buffers", Most>>10),
		fmt.Sprintf("up to %d times what a message of the device holds if that is more: %d KiB on a host", Times,
			max(Most, Times*host.DefaultLimit)>>10),
		fmt.Sprintf("A channel has %d buffers", slots),
		fmt.Sprintf("at most %d channels at a time, and at most %d MiB in all", channels, room>>20),
	} {
		require.Contains(t, text, says)
	}
}
