//go:build linux

package meet

import (
	"crypto/rand"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestCard(t *testing.T) { assert.EqualValues(t, CardSize, unsafe.Sizeof(Card{})) }

func TestRefusal(t *testing.T) {
	here := Card{Node: Node()}
	there := Card{Node: [32]byte{1}}
	other := Card{Node: Node(), Profile: [32]byte{1}}
	local := Card{Node: Node(), Device: [32]byte{'h', 'o', 's', 't'}}
	off, gone, ill := Card{State: Disabled}, Card{State: NotLoaded}, Card{State: Failing}
	for _, c := range []struct {
		all     []Card
		why     string
		speaker int
	}{
		{[]Card{here, here}, "", -1},
		{[]Card{here, here, there}, "", -1},
		{[]Card{local, here}, "", -1},
		{[]Card{here, local, there}, "the device host is within one host, and rank 2 is on another than rank 0", 0},
		{[]Card{here, other}, "ranks 0 and 1 have different settings", 0},
		{[]Card{here, ill}, "rank 1 cannot take part", 1},
		{[]Card{off, here, here}, "rank 0 has EXANET_DISABLE set, and not all have", 1},
		{[]Card{off, off}, ErrDisabled.Error(), -1},
		{[]Card{here, gone}, "could not load", -1}, // which that rank has said
	} {
		why, speaker := Refusal(c.all)
		assert.Equal(t, c.speaker, speaker)
		if c.why == "" {
			assert.NoError(t, why)
			continue
		}
		assert.ErrorContains(t, why, c.why)
	}
}

func serve(t *testing.T, ranks int) (*Server, Socket, *os.File) {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	t.Cleanup(func() { file.Close() })
	_, err = file.WriteString("memory")
	require.NoError(t, err)
	var name Socket
	rand.Read(name[:])
	server, err := Open(name, ranks)
	require.NoError(t, err)
	return server, name, file
}

func nobody() int { return 0 }

// Everybody gets the same file, of which no name is left, and learns whether all
// have taken their places.
func TestServer(t *testing.T) {
	const ranks = 8
	for fails := range ranks + 1 { // the last: nobody
		server, name, file := serve(t, ranks)
		var wg sync.WaitGroup
		for rank := 1; rank < ranks; rank++ {
			wg.Go(func() {
				g, f, err := Connect(name, rank)
				if !assert.NoError(t, err) {
					return
				}
				defer f.Close()
				b, err := io.ReadAll(io.NewSectionReader(f, 0, 100))
				assert.NoError(t, err)
				assert.Equal(t, "memory", string(b))
				assert.Equal(t, fails == ranks, g.Report(rank != fails))
			})
		}
		require.NoError(t, server.Serve(file, ranks, nobody))
		var failed atomic.Int32
		server.Watch(func(rank int) { failed.Store(int32(rank)) })
		assert.Equal(t, fails == ranks, server.Outcome(fails != 0))
		assert.EqualValues(t, fails%ranks, failed.Load())
		server.Close()
		wg.Wait()
		_, _, err := Connect(name, 1)
		assert.Error(t, err)
		sockets, err := os.ReadFile("/proc/net/unix")
		require.NoError(t, err)
		assert.NotContains(t, string(sockets), strings.TrimPrefix(address(name).Name, "@"))
	}
}

// Nobody waits for who connects and says nothing, or half of it.
func TestSilentClients(t *testing.T) {
	server, name, file := serve(t, 8) // so many can wait to be accepted
	for said := range 4 {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		defer unix.Close(fd)
		require.NoError(t, unix.Connect(fd, address(name)))
		_, err = unix.Write(fd, make([]byte, said))
		require.NoError(t, err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		g, f, err := Connect(name, 1)
		if assert.NoError(t, err) {
			f.Close()
			assert.True(t, g.Report(true))
		}
	})
	require.NoError(t, server.Serve(file, 2, nobody))
	server.Watch(func(int) {})
	assert.True(t, server.Outcome(true))
	server.Close()
	wg.Wait()
}

// Who cannot come says so, and nobody waits.
func TestExcused(t *testing.T) {
	server, name, file := serve(t, 3)
	var wg sync.WaitGroup
	wg.Go(func() {
		g, f, err := Connect(name, 2)
		if assert.NoError(t, err) {
			f.Close()
			assert.False(t, g.Report(true))
		}
	})
	times := 0
	err := server.Serve(file, 3, func() int { times++; return min(1, max(times-3, 0)) })
	assert.ErrorContains(t, err, "1 of 3 ranks")
	server.Close()
	wg.Wait()
	(*Server)(nil).Close()
}

// A client that goes away has failed.
func TestGone(t *testing.T) {
	server, name, file := serve(t, 2)
	var wg sync.WaitGroup
	wg.Go(func() {
		g, f, err := Connect(name, 1)
		if assert.NoError(t, err) {
			f.Close()
			(&Server{listener: -1, clients: map[int]int{1: g.fd}}).Close()
		}
	})
	require.NoError(t, server.Serve(file, 2, nobody))
	server.Watch(func(int) {})
	assert.False(t, server.Outcome(true))
	server.Close()
	wg.Wait()
}
