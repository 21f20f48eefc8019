package meet

import (
	"crypto/rand"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRefusal(t *testing.T) {
	here := Card{Node: Node()}
	there := Card{Node: [32]byte{1}}
	assert.NoError(t, Refusal([]Card{here, here}))
	assert.ErrorContains(t, Refusal([]Card{here, here, there}), "ranks 0 and 2 are on different hosts")
	assert.ErrorContains(t, Refusal([]Card{{Node: Node(), State: Failing}, here}), "rank 0 could not make")
}

// Everybody gets the same file, of which no name is left.
func TestHandOver(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	_, err = file.WriteString("memory")
	require.NoError(t, err)
	name := make([]byte, 31)
	rand.Read(name)
	const ranks = 8
	offer, err := Give(file, name, ranks)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range ranks {
		wg.Go(func() {
			f, err := Fetch(name)
			if !assert.NoError(t, err) {
				return
			}
			defer f.Close()
			b, err := io.ReadAll(io.NewSectionReader(f, 0, 100))
			assert.NoError(t, err)
			assert.Equal(t, "memory", string(b))
		})
	}
	wg.Wait()
	require.NoError(t, offer.Wait())
	_, err = Fetch(name)
	assert.Error(t, err)
	sockets, err := os.ReadFile("/proc/net/unix")
	require.NoError(t, err)
	assert.NotContains(t, string(sockets), strings.TrimPrefix(address(name).Name, "@"))
}

func TestTakenBack(t *testing.T) {
	name := make([]byte, 31)
	rand.Read(name)
	offer, err := Give(os.Stdin, name, 1)
	require.NoError(t, err)
	offer.Close()
	assert.ErrorIs(t, offer.Wait(), net.ErrClosed)
	(*Offer)(nil).Close()
}
