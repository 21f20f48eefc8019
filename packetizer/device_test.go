package packetizer_test

import (
	"encoding/binary"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/mbox"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// limit ends a wait for the software device that would otherwise be for ever.
const limit = time.Minute

func eventually(t require.TestingT, what string, cond func() bool) {
	for end := time.Now().Add(limit); !cond(); runtime.Gosched() {
		require.True(t, time.Now().Before(end), "gave up waiting: %s", what)
	}
}

// start runs a software device and attaches a packetizer page to each of its
// interfaces, and a mailbox, in order.
func start(t require.TestingT, cfg regs.Config) (ports []*packetizer.Device, boxes []*mbox.Device, stop func()) {
	d, err := regs.New(cfg)
	require.NoError(t, err)
	pb, mb, _ := d.Blocks(0)
	var book []packetizer.Address
	for _, pdid := range cfg.Nodes[0].PDIDs {
		p, err := packetizer.Attach(pb, pdid)
		require.NoError(t, err)
		b, err := mbox.Attach(mb, pdid)
		require.NoError(t, err)
		require.Equal(t, pdid, p.ProtectionID())
		ports, boxes, book = append(ports, p), append(boxes, b), append(book, b.Address())
	}
	for _, p := range ports {
		p.SetBook(book)
	}
	return ports, boxes, func() {
		for i := range ports {
			require.NoError(t, ports[i].Close())
			require.NoError(t, boxes[i].Close())
		}
		require.NoError(t, d.Close())
	}
}

func number(n int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

func TestMessageArrivesWhole(t *testing.T) {
	ports, boxes, stop := start(t, regs.Config{Nodes: []regs.Node{{PDIDs: []uint32{5, 5}}}})
	defer stop()
	rapid.Check(t, func(t *rapid.T) {
		h := packetizer.Header{uint64(rapid.Uint32().Draw(t, "kind")) << 32, rapid.Uint64().Draw(t, "h1"),
			rapid.Uint64().Draw(t, "h2")}
		payload := rapid.SliceOfN(rapid.Byte(), 0, packetizer.PayloadLimit).Draw(t, "payload")
		require.True(t, ports[0].TrySend(1, h, payload))
		eventually(t, "message", func() bool {
			got, body, ok := boxes[1].Next()
			if !ok {
				return false
			}
			require.Equal(t, h, got)
			require.Equal(t, string(payload), string(body))
			boxes[1].Release()
			return true
		})
		eventually(t, "windows", ports[0].Drained)
	})
	require.Panics(t, func() { ports[0].TrySend(1, packetizer.Header{}, make([]byte, packetizer.PayloadLimit+1)) })
}

// Many senders load one small mailbox; each one's messages arrive in order,
// and every sender gets through.
func TestOrderPerSenderUnderLoad(t *testing.T) {
	t.Run("mailbox of 1", func(t *testing.T) { orderUnderLoad(t, 1, 2, 10000) })
	t.Run("mailbox of 8", func(t *testing.T) { orderUnderLoad(t, 8, 7, 3000) })
}

func orderUnderLoad(t *testing.T, depth, senders, each int) {
	pdids := make([]uint32, senders+1)
	for i := range pdids {
		pdids[i] = 9
	}
	ports, boxes, stop := start(t, regs.Config{Nodes: []regs.Node{{PDIDs: pdids}}, Depth: depth})
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	for s := range senders {
		wg.Go(func() {
			for n := range each {
				for end := time.Now().Add(limit); !ports[s].TrySend(senders, packetizer.Header{0, uint64(s)},
					number(n)); runtime.Gosched() {
					if time.Now().After(end) {
						t.Errorf("sender %d stuck at message %d", s, n)
						return
					}
				}
			}
		})
	}
	next := make([]uint64, senders)
	for range senders * each {
		eventually(t, "message", func() bool {
			h, body, ok := boxes[senders].Next()
			if ok {
				require.Equal(t, next[h[1]], binary.LittleEndian.Uint64(body), "sender %d", h[1])
				next[h[1]]++
				boxes[senders].Release()
			}
			return ok
		})
	}
	_, _, ok := boxes[senders].Next()
	require.False(t, ok)
}

// A full mailbox refuses, holds nobody else up, and recovers without loss.
func TestFullMailbox(t *testing.T) {
	const depth = 4
	ports, boxes, stop := start(t, regs.Config{Nodes: []regs.Node{{PDIDs: []uint32{3, 3, 3}}}, Depth: depth})
	defer stop()
	send := func(to, n int) bool { return ports[0].TrySend(to, packetizer.Header{}, number(n)) }

	// Mailbox 1 is not read: it takes its depth, and some windows hold more.
	const most = depth + packetizer.Share
	sent := 0
	eventually(t, "mailbox and windows full", func() bool {
		if send(1, sent) {
			sent++
		}
		return sent == most
	})
	for range 1000 {
		require.False(t, send(1, sent))
		runtime.Gosched()
	}
	require.GreaterOrEqual(t, ports[0].SendCounts().NoRoom, uint64(1000))
	require.False(t, ports[0].Drained())

	// The same sender, and another one, still reach mailbox 2.
	for n := range 100 {
		eventually(t, "way to mailbox 2", func() bool { return send(2, n) })
		eventually(t, "message in mailbox 2", func() bool {
			_, body, ok := boxes[2].Next()
			if ok {
				require.EqualValues(t, n, binary.LittleEndian.Uint64(body))
				boxes[2].Release()
			}
			return ok
		})
	}
	require.True(t, ports[1].TrySend(2, packetizer.Header{}, nil))
	eventually(t, "other sender", func() bool { _, _, ok := boxes[2].Next(); return ok })
	boxes[2].Release()

	for n := range sent {
		eventually(t, "held back message", func() bool {
			_, body, ok := boxes[1].Next()
			if ok {
				require.EqualValues(t, n, binary.LittleEndian.Uint64(body))
				boxes[1].Release()
			}
			return ok
		})
	}
	eventually(t, "windows", ports[0].Drained)
	require.True(t, send(1, sent))
}

func TestProtectionFilter(t *testing.T) {
	ports, boxes, stop := start(t, regs.Config{Nodes: []regs.Node{{PDIDs: []uint32{1, 1, 2}}}})
	defer stop()
	require.True(t, ports[2].TrySend(1, packetizer.Header{}, nil))
	eventually(t, "refusal", func() bool { return ports[2].Refused() != nil })
	require.ErrorIs(t, ports[2].Refused(), packetizer.ErrProtection)
	var e *packetizer.RefusedError
	require.True(t, errors.As(ports[2].Refused(), &e))
	require.Equal(t, packetizer.RefusedError{To: 1, Address: packetizer.MailboxAddress(0, 1, 1), PDID: 2,
		Err: packetizer.ErrProtection}, *e)
	require.ErrorContains(t, e, "rank 1 (node 0, protection ID 1, mailbox 1) from protection ID 2")
	require.False(t, ports[2].TrySend(1, packetizer.Header{}, nil), "the way there is closed")
	require.Equal(t, mbox.Counts{Strangers: 1}, boxes[1].ReceiveCounts())
	require.Equal(t, packetizer.Counts{Messages: 1, Refused: 1, NoRoom: 0}, ports[2].SendCounts())

	// An address with another ID than the mailbox has is as wrong.
	ports[0].SetBook([]packetizer.Address{packetizer.MailboxAddress(0, 2, 1), boxes[1].Address(),
		packetizer.MailboxAddress(0, 1, 77)})
	require.True(t, ports[0].TrySend(0, packetizer.Header{}, nil))
	eventually(t, "refusal", func() bool { return ports[0].Refused() != nil })
	require.ErrorIs(t, ports[0].Refused(), packetizer.ErrProtection)

	// So is the sender's own ID on the mailbox of another group.
	ports[2].SetBook([]packetizer.Address{packetizer.MailboxAddress(0, 2, 0)})
	require.True(t, ports[2].TrySend(0, packetizer.Header{}, nil))
	eventually(t, "windows", ports[2].Drained)
	_, _, ok := boxes[0].Next()
	require.False(t, ok, "a message of another group arrived")

	require.True(t, ports[0].TrySend(1, packetizer.Header{}, nil), "the device goes on")
	eventually(t, "good message", func() bool { _, _, ok := boxes[1].Next(); return ok })
	boxes[1].Release()
	_, _, ok = boxes[1].Next()
	require.False(t, ok, "a message of another group arrived")

	ports[1].SetBook([]packetizer.Address{packetizer.MailboxAddress(0, 1, 77)})
	require.True(t, ports[1].TrySend(0, packetizer.Header{}, nil))
	eventually(t, "refusal", func() bool { return ports[1].Refused() != nil })
	require.ErrorIs(t, ports[1].Refused(), packetizer.ErrNoDevice)
	require.Equal(t, packetizer.Counts{Messages: 1, BadRoute: 1}, ports[1].SendCounts())
}

func TestAttach(t *testing.T) {
	d, err := regs.New(regs.Config{Nodes: []regs.Node{{PDIDs: []uint32{4, 6}}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	block, mailboxes, _ := d.Blocks(0)
	p, err := packetizer.Attach(block, 6)
	require.NoError(t, err)

	_, err = packetizer.Attach(block, 6)
	require.ErrorIs(t, err, packetizer.ErrExhausted)
	_, err = packetizer.Attach(block, 5)
	require.ErrorIs(t, err, packetizer.ErrProtection)
	_, err = packetizer.Attach(mailboxes, 4)
	require.ErrorIs(t, err, packetizer.ErrNoDevice)
	_, err = packetizer.Attach(packetizer.Block{Path: block.Path, Offset: block.Offset + 8}, 4)
	require.ErrorIs(t, err, packetizer.ErrMisaligned)
	_, err = packetizer.Attach(packetizer.Block{Path: "/dev/exanet-none"}, 0)
	require.ErrorIs(t, err, packetizer.ErrNoDevice)
	require.ErrorContains(t, err, "/dev/exanet-none")

	require.NoError(t, p.Close())
	p, err = packetizer.Attach(block, 6)
	require.NoError(t, err, "a page that was given back is free")
	require.NoError(t, p.Close())
}

// A page taken over from an owner that stopped at the worst moment, a window
// filled and not submitted, works as new.
func TestTakeOver(t *testing.T) {
	d, err := regs.New(regs.Config{Nodes: []regs.Node{{PDIDs: []uint32{4}}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	block, mailboxes, _ := d.Blocks(0)
	box, err := mbox.Attach(mailboxes, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, box.Close()) }()

	got := uint64(0)
	for owner := range 5 {
		p, err := packetizer.Attach(block, 0)
		require.NoError(t, err)
		p.SetBook([]packetizer.Address{box.Address()})
		for range 40 {
			eventually(t, "window", func() bool { return p.TrySend(0, packetizer.Header{0, got}, nil) })
			eventually(t, "message", func() bool {
				h, _, ok := box.Next()
				if ok {
					require.Equal(t, got, h[1], "owner %d", owner)
					box.Release()
				}
				return ok
			})
			got++
		}
		packetizer.LeaveUnsubmitted(p)
		require.NoError(t, p.Close())
	}
}
