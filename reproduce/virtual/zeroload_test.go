package virtual_test

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/emu/sim"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/reproduce/virtual"
)

// parts is what is between the call of a send and the return of its receive, which has
// been posted before, when nothing else is under way.
type parts struct {
	// Processor: the two locks are those of the send, and of the receive that goes on;
	// each wait that ends with something to do has one more.
	lock, object, search, ticket, copied, enqueue, dequeue, expose, start, notice, wake float64
	messages, writes, agent                                                             float64 // one after the other
}

var atZeroLoad = map[string]struct{ eager, long parts }{
	"readbased": {
		eager: parts{lock: 2, search: 1, copied: 2, enqueue: 1, dequeue: 1, wake: 1, messages: 1},
		// RTS with three words, CTS to the R5, write, and the Ack leaves before the receive returns.
		long: parts{lock: 3, object: 1, search: 1, copied: 2 * 24, enqueue: 3, dequeue: 1, expose: 2, notice: 1,
			wake: 2, messages: 2, writes: 1, agent: 1},
	},
	"rtr": {
		eager: parts{lock: 2, object: 1, search: 1, copied: 2, enqueue: 1, dequeue: 1, wake: 1, messages: 1},
		// The RTR, three words, is in the mailbox; Env with one, and the write.
		long: parts{lock: 2, object: 2, search: 1, copied: 24 + 8, enqueue: 1, dequeue: 1, start: 1, notice: 1, wake: 1,
			writes: 1},
	},
	"envless": {
		eager: parts{lock: 2, object: 1, search: 1, copied: 2, enqueue: 1, dequeue: 1, wake: 1, messages: 1},
		long:  parts{lock: 2, object: 2, search: 1, copied: 24, dequeue: 1, start: 1, notice: 1, wake: 1, writes: 1},
	},
	"ticket": {
		eager: parts{lock: 2, copied: 2, enqueue: 1, dequeue: 1, wake: 1, messages: 1},
		long: parts{lock: 2, object: 2, search: 1, ticket: 1, copied: 24, dequeue: 1, start: 1, notice: 1, wake: 1,
			writes: 1},
	},
	"customized": { // as ticket; the RTR has a fourth word, with the last byte of the buffer
		eager: parts{lock: 2, copied: 2, enqueue: 1, dequeue: 1, wake: 1, messages: 1},
		long: parts{lock: 2, object: 2, search: 1, ticket: 1, copied: 32, dequeue: 1, start: 1, notice: 1, wake: 1,
			writes: 1},
	},
	"optimistic": {
		eager: parts{lock: 2, copied: 2, enqueue: 1, dequeue: 1, wake: 1, messages: 1},
		long:  parts{lock: 2, object: 2, search: 1, copied: 32, dequeue: 1, start: 1, notice: 1, wake: 1, writes: 1},
	},
}

// like is the protocol that does the same where the receiver comes first.
var like = map[string]string{"auto": "customized", "standing": "ticket"}

// TestLatencyAtZeroLoadIsTheSumOfItsParts has all constants at random.
func TestLatencyAtZeroLoadIsTheSumOfItsParts(t *testing.T) {
	everyVariant(t, func(t *testing.T, variant string) {
		rapid.Check(t, func(t *rapid.T) {
			m := sim.Prototype()
			c := &m.Costs
			for _, x := range c.Table() {
				switch x.Unit {
				case "ns":
					*x.Value = float64(rapid.IntRange(1, 300).Draw(t, x.Name))
				case "ns/B":
					*x.Value = float64(rapid.IntRange(0, 3).Draw(t, x.Name))
				}
			}
			c.WriteStart += 3000 // longer than an Env takes, which arrives meanwhile
			object := c.Object
			if !virtual.Pooled(variant) {
				object += c.Allocate
			}
			hops := rapid.IntRange(0, 5).Draw(t, "hops")
			p := m.SameQFDB()
			hop, perByte := c.HopInside, 8/c.RateInside
			if hops > 0 {
				var err error
				p, err = m.Apart(hops)
				require.NoError(t, err)
				hop, perByte = float64(hops)*c.HopOutside, 8/c.RateOutside
			}
			for size := range map[int]bool{0: true, 40: true, 41: true, 1000: true} {
				same := cmp.Or(like[variant], variant)
				x := atZeroLoad[same].long
				if size <= 40 {
					x = atZeroLoad[same].eager
					x.copied *= float64(size)
				}
				want := c.Call + x.lock*c.Lock + x.object*object + x.search*c.Search + x.ticket*c.Ticket +
					x.copied*c.Copy +
					x.enqueue*c.Enqueue + x.dequeue*c.Dequeue + x.expose*c.Expose + x.start*c.Start +
					x.notice*c.Notice + x.wake*c.Wake +
					x.messages*(c.Packetizer+64*perByte+hop) + x.agent*c.Agent +
					x.writes*(c.WriteStart+c.WriteLatency+float64(size+16)*perByte+hop+c.Notify)
				if x.messages > 0 {
					want += c.Mailbox // the R5 has none
				}
				require.InDelta(t, want, float64(oneWay(t, m, p, variant, size).Nanoseconds()), 1, "%d bytes", size)
			}
		})
	})
}

func oneWay(t require.TestingT, m sim.Machine, p sim.Placement, variant string, size int) time.Duration {
	var sent, got time.Duration
	_, err := virtual.Run(virtual.Config{Machine: m, Placement: p, Variant: variant}, func(c *mpi.Comm) error {
		b := make([]byte, size)
		if c.Rank() == 0 {
			c.Compute(time.Millisecond)
			sent = c.Now()
			err := mpi.Send(c, b, 1, 1)
			c.Compute(time.Millisecond)
			return err
		}
		_, err := mpi.Recv(c, b, 0, 1)
		got = c.Now()
		return err
	})
	require.NoError(t, err)
	return got - sent
}
