package floor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// peerVariable makes the test program the child of a Pair.
const peerVariable = "EXANET_TEST_PEER"

func TestMain(m *testing.M) {
	switch os.Getenv(peerVariable) {
	case "peer":
		if err := Peer(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "exit":
		os.Exit(3)
	}
	os.Exit(m.Run())
}

func child(role string) Start {
	return func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "/proc/self/exe")
		cmd.Env = append(os.Environ(), peerVariable+"="+role)
		return cmd
	}
}

// Every line has a plausible figure, or says why it has none.
func TestAdd(t *testing.T) {
	var table Table
	require.NoError(t, table.Add(t.Context(), child("peer")))
	require.Len(t, table.Lines, len(measurements))
	for _, l := range table.Lines {
		t.Logf("%-28s %12.3f %s %s", l.Name, l.Value, l.Unit, l.Refused)
		require.NotEmpty(t, l.Unit)
		if l.Refused == "" {
			require.Positive(t, l.Value, l.Name)
			require.Len(t, l.Repeats, 1)
		}
		_, ok := table.Find(l.Name)
		require.Equal(t, l.Refused == "", ok)
	}
	_, ok := table.Find("no such line")
	require.False(t, ok)
}

func TestFindLeavesOutRefusedLines(t *testing.T) {
	table := Table{Lines: []Line{{Name: "x", Value: 1, Repeats: []float64{1}, Refused: "no"}}}
	_, ok := table.Find("x")
	require.False(t, ok)
}

// A child that is gone is an error, not a hang, whenever it goes.
func TestChildIsGone(t *testing.T) {
	_, err := Open(t.Context(), child("exit"))
	require.ErrorIs(t, err, ErrPeer)

	for name, measure := range map[string]func(*Pair) (float64, error){
		"CacheLine": (*Pair).CacheLine, "Yield": (*Pair).Yield, "Pipe": (*Pair).Pipe, "Wake": (*Pair).Wake,
	} {
		p, err := Open(t.Context(), child("peer"))
		require.NoError(t, err)
		require.NoError(t, p.cmd.Process.Kill())
		_, err = measure(p)
		if !errors.Is(err, ErrOneCore) {
			require.ErrorIs(t, err, ErrPeer, name)
		}
		p.Close()
	}
}

func TestContextEndsTheChild(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, err := Open(ctx, child("peer"))
	require.NoError(t, err)
	defer p.Close()
	cancel()
	<-p.waited
	_, err = p.Yield()
	require.ErrorIs(t, err, ErrPeer)
}

func TestNoSuchChild(t *testing.T) {
	_, err := Open(t.Context(), func(ctx context.Context) *exec.Cmd {
		return exec.CommandContext(ctx, "/no/such/program")
	})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestPeerByHandSaysSo(t *testing.T) {
	cmd := child("peer")(t.Context())
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "not by hand")
}

// Words that the two sides write at the same time are in different cache
// lines.
func TestSharedLayout(t *testing.T) {
	typ := reflect.TypeFor[shared]()
	lines := make(map[uintptr]string)
	for _, name := range []string{"order", "what", "done", "ping", "pong", "turn", "bell"} {
		f, ok := typ.FieldByName(name)
		require.True(t, ok)
		require.Zero(t, f.Offset%mem.CacheLine, name)
		require.Empty(t, lines[f.Offset], name)
		lines[f.Offset] = name
	}
	require.LessOrEqual(t, typ.Size(), uintptr(sharedSize))
}

// A message has come to the other process, in all ways.
func TestMessages(t *testing.T) {
	p, err := Open(t.Context(), child("peer"))
	require.NoError(t, err)
	defer p.Close()
	for _, size := range []int{8, LargestMessage} {
		times, err := p.Message(size)
		if errors.Is(err, ErrOneCore) {
			t.Skip("there is one core only")
		}
		require.NoError(t, err)
		require.Positive(t, times.Shared, size)
		require.Equal(t, times.One > 0, times.Both > 0)
		require.Equal(t, times.One > 0 && size <= largestExchange, times.Exchange > 0)
		require.Equal(t, size <= largestExchange, times.ExchangeViaShared > 0)
		for how, measured := range map[uint32]float64{viaShared: times.Shared, oneCopies: times.One,
			bothCopies: times.Both} {
			if measured == 0 {
				continue
			}
			word := uint64(size)<<8 + uint64(how) + 1
			mem.U64(p.message4M, 0).Store(word)
			_, err := p.message(how, size)
			require.NoError(t, err)
			require.NoError(t, p.order(orderLook, -1))
			require.NoError(t, p.finish())
			require.Equal(t, word, p.s.seen, "%d bytes, way %d", size, how)
		}
	}
	_, err = p.Message(LargestMessage + 1)
	require.Error(t, err)
}

// Blocks arrive from the other process, and from this one.
func TestExchange(t *testing.T) {
	p, err := Open(t.Context(), child("peer"))
	require.NoError(t, err)
	defer p.Close()
	for i, n := range []int{4096, largestExchange, streamPiece + 8, largestExchange} {
		how := []uint32{oneCopies, viaShared}[i/2]
		for word := uint64(1); word < 3; word++ {
			p.message4M = touched(bufferSize)
			mem.U64(p.message4M, 0).Store(10 + word)
			mem.U64(p.message4M, n).Store(20 + word)
			theirs := make([]byte, 8)
			mem.U64(theirs, 0).Store(30 + word)
			pid, addr, err := p.attachable()
			if err != nil {
				t.Skip("cross-memory attach to a child is refused here")
			}
			require.NoError(t, write(pid, addr, theirs))
			each, err := p.exchange(how, n)
			if errors.Is(err, ErrOneCore) {
				t.Skip("there is one core only")
			}
			require.NoError(t, err)
			require.Positive(t, each)
			require.Equal(t, 10+word, mem.U64(p.message4M, 2*n).Load())
			require.Equal(t, 30+word, mem.U64(p.message4M, 3*n).Load())
			require.NoError(t, read(pid, addr+2*uint64(n), theirs))
			require.Equal(t, 20+word, mem.U64(theirs, 0).Load())
		}
	}
}

// More processes than cores pass each other blocks both ways, and every one has run in every step.
func TestOversubscribed(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		for _, block := range []int{8, 5000} {
			us, err := Oversubscribed(t.Context(), child("peer"), n, block, false)
			require.NoError(t, err)
			require.Positive(t, us)
			_, err = Oversubscribed(t.Context(), child("peer"), n, block, true)
			if errors.Is(err, unix.EPERM) {
				t.Log("attach is refused: ", err)
				continue
			}
			require.NoError(t, err)
		}
	}
	begun := time.Now()
	_, err := Oversubscribed(t.Context(), child("exit"), 3, 8, false)
	require.ErrorIs(t, err, ErrOversubscribed)
	require.Less(t, time.Since(begun), timeout)
}

// A cache line's trip between two threads takes something, and not for ever, where other programs have the cores, too.
func TestTrip(t *testing.T) {
	ns, err := Trip()
	if runtime.NumCPU() < 2 {
		require.ErrorIs(t, err, ErrOneCore)
		return
	}
	require.NoError(t, err)
	require.Greater(t, ns, 0.5)
	require.Less(t, ns, float64(timeout))
	cores, err := sys.Affinity()
	require.NoError(t, err)
	ns, err = TripBetween(cores[0], cores[1])
	require.NoError(t, err)
	require.Greater(t, ns, 0.5)
	after, err := sys.Affinity()
	require.NoError(t, err)
	require.Equal(t, cores, after)
	_, err = TripBetween(cores[0], 1000)
	require.Error(t, err)
	_, err = TripBetween(1000, cores[0])
	require.Error(t, err)
}
