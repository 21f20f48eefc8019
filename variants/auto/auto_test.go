package auto_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/test/pairtest"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/auto"
	"github.com/exanet-mpi/exanet/variants/ticket"
)

const (
	limit  = 64
	medium = 200
	hybrid = 400
	large  = 1000
)

type pair = pairtest.Pair[*ticket.Protocol]

func newPair(t require.TestingT, make func(me int, f *host.Fabric) *ticket.Protocol) *pair {
	p, err := pairtest.New(limit, make)
	require.NoError(t, err)
	return p
}

func newAuto(me int, f *host.Fabric) *ticket.Protocol {
	return ticket.NewAuto(me, f, hybrid, auto.Default)
}

// message is one from rank 0 to rank 1.
type message struct {
	Size, Room int
	First      int // of the two ranks; 2: both at once
}

// fits is for how many messages the mailboxes have room whatever was before. Those that wait for room come late, and
// how many these are depends on the control messages of before, so that protocols would no longer see the same.
const fits = 16

// pass has messages pass, so many at a time as the mailboxes take.
func pass(t require.TestingT, p *pair, burst []message) {
	for some := range slices.Chunk(burst, fits) {
		passTogether(t, p, some)
	}
}

// passTogether has some messages pass, whose receives are posted together where the receiver comes first.
func passTogether(t require.TestingT, p *pair, burst []message) {
	var all []*variants.Request
	post := func(rank int) {
		for _, m := range burst {
			if rank == 0 {
				all = append(all, p.Send(0, 0, make([]byte, m.Size)))
			} else {
				all = append(all, p.Recv(1, 0, make([]byte, m.Room)))
			}
		}
	}
	switch first := burst[0].First; first {
	case 2:
		post(0)
		post(1)
	default:
		post(first)
		p.Poll(0)
		p.Poll(1)
		post(1 - first)
	}
	require.True(t, p.Settle(all...))
	for i := range 2 {
		p.Poll(i)
	}
}

// control is how many control messages both ranks have sent.
func control(p *pair) (n int) {
	for i := range 2 {
		for kind, sent := range p.Rank[i].Counters().Control {
			if variants.Kind(kind) != variants.EnvD {
				n += int(sent)
			}
		}
	}
	return n
}

// Whatever messages come, if the mailboxes take them, auto sends at most two in 100 control messages more than the
// better of the protocols between whose forms it chooses. By a rule that asks for fewer wasted RTRs it is as many as
// these pay for.
func TestNeverManyMoreMessages(t *testing.T) {
	for _, silence := range []int{auto.Default.Silence, 3} {
		t.Run(strconv.Itoa(silence), func(t *testing.T) { neverManyMore(t, silence) })
	}
}

func neverManyMore(t *testing.T, silence int) {
	rule := auto.Default
	rule.Silence = silence
	rapid.Check(t, func(t *rapid.T) {
		bursts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) (burst []message) {
			m := message{rapid.SampledFrom([]int{8, 8, 8, medium, large}).Draw(t, "size"),
				rapid.SampledFrom([]int{limit, large, large}).Draw(t, "room"),
				rapid.SampledFrom([]int{1, 1, 0, 2}).Draw(t, "first")}
			m.Room = max(m.Room, m.Size)
			for range rapid.IntRange(1, 80).Draw(t, "times") {
				burst = append(burst, m)
			}
			return burst
		}), 1, 12).Draw(t, "bursts")
		other := newPair(t, func(me int, f *host.Fabric) *ticket.Protocol { return ticket.New(me, f) })
		third := newPair(t, func(me int, f *host.Fabric) *ticket.Protocol {
			return ticket.NewHybrid(me, f, hybrid)
		})
		ours := newPair(t, func(me int, f *host.Fabric) *ticket.Protocol { return ticket.NewAuto(me, f, hybrid, rule) })
		for _, burst := range bursts {
			for _, p := range []*pair{other, third, ours} {
				pass(t, p, burst)
			}
		}
		require.LessOrEqual(t, silence*control(ours), (silence+1)*min(control(other), control(third)))
	})
}

// Large receives of small messages: after 50 in vain they are no longer advertised, until a large message comes.
func TestReceivesFallSilent(t *testing.T) {
	p := newPair(t, newAuto)
	n := p.Rank[1].Counters()
	for range 200 {
		pass(t, p, []message{{8, large, 1}})
	}
	require.EqualValues(t, 50, n.Control[variants.RTR])
	require.EqualValues(t, 150, n.Silent)
	require.Equal(t, "communicator 0, receives from rank 0, up to 1 KiB: 50 advertised for eager messages, 150 "+
		"silent: silent", choices(p, 1))
	pass(t, p, []message{{large, large, 1}})
	pass(t, p, []message{{large, large, 1}})
	require.EqualValues(t, 51, n.Control[variants.RTR])
	require.EqualValues(t, 151, n.Silent)
}

// A receiver that is always late makes the sender leave copies, as far as messages are medium; one that comes first, or
// at the same time, makes it stop.
func TestSendersLeaveCopies(t *testing.T) {
	p := newPair(t, newAuto)
	n := p.Rank[0].Counters()
	late, same, early := []message{{medium, medium, 0}}, []message{{medium, medium, 2}}, []message{{medium, medium, 1}}
	for range 16 {
		pass(t, p, late)
	}
	require.Zero(t, n.Copies)
	s := p.Send(0, 0, make([]byte, medium))
	require.True(t, s.Done, "the send is complete before its receive is posted")
	p.Poll(1)
	r := p.Recv(1, 0, make([]byte, medium))
	require.True(t, p.Settle(r))
	require.EqualValues(t, 1, n.Copies)
	require.Equal(t, "communicator 0, sends to rank 1, up to 256 B: receiver first in 0 %, sender first in 100 %, "+
		"both at once in 0 % of 17: HYBRID", choices(p, 0))
	for range 3 {
		pass(t, p, same)
	}
	require.EqualValues(t, 4, n.Copies)
	for range 4 {
		pass(t, p, early)
	}
	pass(t, p, late)
	require.EqualValues(t, 4, n.Copies)
	for range 30 {
		pass(t, p, []message{{large, large, 0}})
	}
	require.EqualValues(t, 4, n.Copies)
}

func choices(p *pair, rank int) (text string) {
	p.Rank[rank].Choices(func(line string) { text += line })
	return text
}
