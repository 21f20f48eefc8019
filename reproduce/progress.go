package reproduce

import (
	"fmt"
	"slices"
	"time"

	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/variants"
)

// What Small and Yuan compare: their scheme, and a rendezvous that the sender begins whoever comes first: RTS, CTS,
// write. The latter is ticket here with receives from any source, which do not advertise.
const (
	customizedName = "customized"
	sendInitiated  = "send-initiated"
)

// reference is the size that the paper compares computation with: its C(1), 18 us, is a fifth of its T(100 KB), 90 us.
const reference = 100000

// transferTime is the paper's T: microseconds of a write of so many bytes into a receive that has advertised.
func (l *lab) transferTime(size int) (float64, error) {
	return remember(l, transferKey(size), func() (float64, error) {
		return l.late(writeThree, size, -100*time.Microsecond)
	})
}

type transferKey int

// unit is the paper's C(1) on the simulated machine.
func (l *lab) unit() (time.Duration, error) {
	us, err := l.transferTime(reference)
	return time.Duration(us / 5 * 1e3), err
}

// progress is the progress benchmark in one order.
func progress(l *lab, s setup) (f reading, err error) {
	unit, err := l.unit()
	if err != nil {
		return f, err
	}
	at := slices.IndexFunc(bench.Orders, func(o bench.Order) bool { return o.Name == s.order })
	if at < 0 {
		return f, fmt.Errorf("progress has no order %q", s.order)
	}
	var opts []mpi.Option
	if !s.background {
		opts = append(opts, mpi.WithoutBackground())
	}
	r, err := l.run(s, func(c *mpi.Comm) error {
		columns, err := bench.Progress(c, fewRounds(s), bench.Orders[at:at+1], unit)
		if c.Rank() == 0 && err == nil {
			f.value = columns[0].Rows[0].Value
		}
		return err
	}, opts...)
	if err == nil {
		f.messages, f.receives, f.fast = r.Messages, r.Counters.Receives, r.Counters.FastReceives
	}
	return f, err
}

// pingpong is the round trip of a message in microseconds, with progress in calls alone.
func pingpong(l *lab, s setup) (f reading, err error) {
	r, err := l.run(s, func(c *mpi.Comm) error {
		rows, err := bench.Latency(c, fewRounds(s))
		if c.Rank() == 0 && err == nil {
			f.value = 2 * rows[0].Value
		}
		return err
	}, mpi.WithoutBackground())
	if err == nil {
		n := &r.Counters
		f.messages, f.crossed, f.env = r.Messages, n.Crossings, n.Control[variants.Env]
		f.receives = n.Control[variants.RTS] + n.FastReceives // of these messages
	}
	return f, err
}

func fewRounds(s setup) bench.Sweep {
	return bench.Sweep{Sizes: []int{s.size}, Iterations: 20, Warmup: 3, Repeat: 1,
		AnySource: s.variant == sendInitiated}
}
