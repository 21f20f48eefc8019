package endpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/mbox"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/stretchr/testify/require"
)

var (
	_ packetizer.Port = (*Endpoint)(nil)
	_ mbox.Box        = (*Endpoint)(nil)
	_ rdmaeng.Engine  = (*Endpoint)(nil)
)

const (
	group        = 21
	limit        = time.Minute
	roleVariable = "EXANET_TEST_ENDPOINT" // "rank size rounds"
)

// TestMain lets the test binary be a rank: it inherits the device as file 3.
func TestMain(m *testing.M) {
	var rank, size, rounds int
	if role := os.Getenv(roleVariable); role != "" {
		_, err := fmt.Sscan(role, &rank, &size, &rounds)
		if err == nil {
			err = runRank("/proc/self/fd/3", rank, size, rounds)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "rank %d: %v\n", rank, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// device has nodes with so many interfaces each.
func device(t *testing.T, interfaces ...int) *regs.Device {
	cfg := regs.Config{Depth: 16}
	for i, n := range interfaces {
		cfg.Nodes = append(cfg.Nodes, regs.Node{ID: uint8(i + 1), PDIDs: slices.Repeat([]uint32{group}, n)})
	}
	d, err := regs.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// Kinds of messages, in the upper half of header word 0; word 1 is the
// sender's rank, word 2 the number of the message for its receiver.
const (
	kindWindow = iota + 1
	kindChat
)

// fill is the data of a round; two rounds of one sender differ everywhere.
func fill(b []byte, rank, round int) {
	seed := uint64(rank+1)<<32 | uint64(round+1)
	for i := 0; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], seed<<8+uint64(i))
	}
}

func check(b []byte, rank, round int) error {
	seed := uint64(rank+1)<<32 | uint64(round+1)
	for i := 0; i+8 <= len(b); i += 8 {
		if got := binary.LittleEndian.Uint64(b[i:]); got != seed<<8+uint64(i) {
			return fmt.Errorf("round %d: notified, but byte %d of %d from rank %d is not there: %#x", round, i, len(b),
				rank, got)
		}
	}
	return nil
}

// peer is the state of one rank of the exercise.
type peer struct {
	*Endpoint
	next   []uint64 // number of the next message from each rank
	sent   []uint64
	window rdmaeng.Window
	have   bool
}

// runRank is a rank's life: in every round it sends a buffer's window to its
// right neighbour and a message to everybody, writes to its left neighbour, and
// checks what its right neighbour wrote as soon as it is notified.
func runRank(path string, rank, size, rounds int) (err error) {
	e, err := Open(path, rank, size, group, limit)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	p := &peer{Endpoint: e, next: make([]uint64, size), sent: make([]uint64, size)}
	left, right := (rank+size-1)%size, (rank+1)%size
	dst, src := make([]byte, 300<<10), make([]byte, 300<<10)
	for round := range rounds {
		n := (round * 7919 * 8) % len(dst)
		slot, w := e.Expose(dst[:n])
		body := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, w.Addr), w.Notify)
		if err := p.send(right, kindWindow, body); err != nil {
			return err
		}
		for to := range size {
			if err := p.send(to, kindChat, nil); err != nil {
				return err
			}
		}
		if err := p.until("window", func() (bool, error) { return p.have, nil }); err != nil {
			return err
		}
		p.have = false
		fill(src[:n], rank, round)
		x := &rdmaeng.Transfer{To: left, Src: src[:n], Dst: p.window,
			Notify: rdmaeng.Notification{int32(n), int32(round), int32(round & 1), 0}}
		e.Start(x)
		if err := p.until("notification", func() (bool, error) {
			s, note, ok := e.Notified()
			if !ok {
				return false, nil
			}
			if s != slot || note != x.Notify {
				return true, fmt.Errorf("slot %d instead of %d, %v instead of %v", s, slot, note, x.Notify)
			}
			return true, check(dst[:n], right, round)
		}); err != nil {
			return err
		}
		e.Withdraw(slot)
		if err := p.until("transfer", func() (bool, error) { return e.Test(x) }); err != nil {
			return err
		}
	}
	// Nobody leaves before it has what was sent to it.
	if err := p.until("messages of others", func() (bool, error) {
		for from, n := range p.next {
			want := uint64(rounds)
			if from == left {
				want *= 2
			}
			if n < want {
				return false, nil
			}
		}
		return e.Drained(), nil
	}); err != nil {
		return err
	}
	return e.Refused()
}

// poll takes one message and checks its number.
func (p *peer) poll() (bool, error) {
	h, body, ok := p.Next()
	if !ok {
		return false, nil
	}
	defer p.Release()
	if h[2] != p.next[h[1]] {
		return true, fmt.Errorf("message %d from rank %d instead of %d", h[2], h[1], p.next[h[1]])
	}
	p.next[h[1]]++
	if h[0]>>32 == kindWindow {
		p.have = true
		p.window = rdmaeng.Window{Addr: binary.LittleEndian.Uint64(body), Notify: binary.LittleEndian.Uint64(body[8:])}
	}
	return true, nil
}

// until polls until cond holds.
func (p *peer) until(what string, cond func() (bool, error)) error {
	end := time.Now().Add(limit)
	for round := 0; ; round++ {
		if ok, err := cond(); ok || err != nil {
			return err
		}
		got, err := p.poll()
		if err != nil {
			return err
		}
		if got {
			round = 0
		}
		p.Idle(round)
		if time.Now().After(end) {
			return fmt.Errorf("rank %d gave up waiting: %s", p.Rank(), what)
		}
	}
}

func (p *peer) send(to int, kind uint64, body []byte) error {
	h := packetizer.Header{kind << 32, uint64(p.Rank()), p.sent[to]}
	err := p.until("way to another mailbox", func() (bool, error) { return p.TrySend(to, h, body), nil })
	p.sent[to]++
	return err
}

// layouts of ranks on nodes: each node has those of one block.
var layouts = [][]int{{5}, {1, 1, 1, 1}, {2, 3, 1}}

// nodes has the node of each rank.
func nodes(layout []int) (of []int) {
	for node, n := range layout {
		of = append(of, slices.Repeat([]int{node}, n)...)
	}
	return of
}

func TestRanksAsProcesses(t *testing.T) {
	const rounds = 40
	for _, layout := range layouts {
		t.Run(fmt.Sprint(layout), func(t *testing.T) {
			d := device(t, layout...)
			var ranks []*exec.Cmd
			for r, node := range nodes(layout) {
				c := exec.Command(os.Args[0])
				c.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %d", roleVariable, r, len(nodes(layout)), rounds))
				c.ExtraFiles = []*os.File{d.File(node)}
				c.Stderr = os.Stderr
				require.NoError(t, c.Start())
				ranks = append(ranks, c)
			}
			for r, c := range ranks {
				require.NoError(t, c.Wait(), "rank %d", r)
			}
		})
	}
}

func TestRanksAsGoroutines(t *testing.T) {
	const rounds = 30
	for _, layout := range layouts {
		t.Run(fmt.Sprint(layout), func(t *testing.T) {
			d := device(t, layout...)
			of := nodes(layout)
			errs := make([]error, len(of))
			var wg sync.WaitGroup
			for r, node := range of {
				wg.Go(func() { errs[r] = runRank(d.Path(node), r, len(of), rounds) })
			}
			wg.Wait()
			require.NoError(t, errors.Join(errs...))
		})
	}
}

// What the thesis does without a window in a message: the address of a peer's
// memory follows from its local address and the offset in its entry.
func TestAddressFromEntry(t *testing.T) {
	d := device(t, 2)
	_, _, cb := d.Blocks(0)
	pb, mb, _ := d.Blocks(0)
	blocks := Blocks{Packetizer: pb, Mailbox: mb, Channel: cb}
	a, err := Attach(blocks, 0)
	require.NoError(t, err)
	b, err := Attach(blocks, group)
	require.NoError(t, err)
	entries := []Entry{a.Entry(), b.Entry()}
	require.NoError(t, a.Join(0, entries))
	require.NoError(t, b.Join(1, entries))
	require.Equal(t, []int{1, 2}, []int{b.Rank(), b.Size()})
	require.EqualValues(t, 1, b.NodeID())

	buf := make([]byte, 64)
	_, w := b.Expose(buf)
	require.Equal(t, rdmaeng.Address(buf, entries[1].Offset), w.Addr)
	_, err = Attach(blocks, group)
	require.ErrorIs(t, err, packetizer.ErrExhausted)
	require.NoError(t, a.Close())

	// An attach that fails halfway gives back what it took.
	p, err := packetizer.Attach(pb, group)
	require.NoError(t, err)
	for range 3 {
		_, err = Attach(blocks, group)
		require.ErrorIs(t, err, packetizer.ErrExhausted)
		require.ErrorContains(t, err, "2 pages in the block")
	}
	require.NoError(t, p.Close())
	a, err = Attach(blocks, group)
	require.NoError(t, err)
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}

func TestDirectory(t *testing.T) {
	d := device(t, 4)
	open := func(rank, size int, timeout time.Duration) error {
		e, err := Open(d.Path(0), rank, size, group, timeout)
		if err == nil {
			t.Cleanup(func() { require.NoError(t, e.Close()) })
		}
		return err
	}
	err := open(1, 4, 20*time.Millisecond)
	require.ErrorIs(t, err, ErrMissing)
	var missing *MissingError
	require.True(t, errors.As(err, &missing))
	require.Equal(t, []int{0, 2, 3}, missing.Ranks)
	require.ErrorContains(t, err, "[0 2 3]")

	// It has left no trace: the next one does not count on it.
	err = open(0, 2, 0)
	require.True(t, errors.As(err, &missing))
	require.Equal(t, []int{1}, missing.Ranks)

	require.ErrorIs(t, open(0, 5, 0), ErrRank)
	require.ErrorIs(t, open(2, 2, 0), ErrRank)
	require.ErrorIs(t, open(-1, 2, 0), ErrRank)
	require.NoError(t, open(0, 1, 0))
	err = open(0, 1, 0)
	require.ErrorIs(t, err, ErrRank)
	require.ErrorContains(t, err, "already joined")

	_, err = Open("/dev/exanet-none", 0, 1, 0, 0)
	require.ErrorIs(t, err, packetizer.ErrNoDevice)
	notDevice := t.TempDir() + "/file"
	require.NoError(t, os.WriteFile(notDevice, []byte(strings.Repeat("x", 8192)), 0o600))
	_, err = Open(notDevice, 0, 1, 0, 0)
	require.ErrorIs(t, err, packetizer.ErrNoDevice)
}

func TestTwoGroups(t *testing.T) {
	d, err := regs.New(regs.Config{Nodes: []regs.Node{{PDIDs: []uint32{1, 2}}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	_, err = Open(d.Path(0), 0, 1, 3, 0)
	require.ErrorIs(t, err, packetizer.ErrProtection)
	var errs [2]error
	var wg sync.WaitGroup
	for r := range errs {
		wg.Go(func() { _, errs[r] = Open(d.Path(0), r, 2, uint32(r+1), limit) })
	}
	wg.Wait()
	for r, err := range errs {
		require.ErrorIs(t, err, packetizer.ErrProtection)
		require.ErrorContains(t, err, fmt.Sprintf("that rank has %d", 2-r))
	}
}
