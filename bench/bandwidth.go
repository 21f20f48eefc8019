package bench

import (
	"time"

	"github.com/exanet-mpi/exanet/mpi"
)

// window is how many messages are on their way before the receiver answers.
const window = 64

// Bandwidth measures a stream from the first to the last rank of c, as osu_bw
// does: windows of 64 non-blocking sends and receives, and a message of 4
// bytes back for each window, in units of 10^6 bytes a second. Rank 0 gets the
// rows. All sends of a window are from one buffer, and all receives into one.
func Bandwidth(c *mpi.Comm, s Sweep) ([]Row, error) {
	rows, err := s.stream(c, ends, false)
	return perSecond(rows, func(size int) float64 { return float64(size) / 1e6 }), err
}

// BothWays measures two such streams at the same time, one each way, as osu_bibw
// does. Rank 0 gets the rows, of both together.
func BothWays(c *mpi.Comm, s Sweep) ([]Row, error) {
	rows, err := s.stream(c, ends, true)
	return perSecond(rows, func(size int) float64 { return 2 * float64(size) / 1e6 }), err
}

// MessageRate measures streams from each rank of the lower half to one of the upper half at
// the same time, as osu_mbw_mr does. It needs an even number of ranks. Rank 0 gets two
// columns, of all pairs together: units of 10^6 bytes, and messages, a second.
func MessageRate(c *mpi.Comm, s Sweep) ([]Column, error) {
	rows, err := s.stream(c, halves, false)
	if rows == nil {
		return nil, err
	}
	pairs := float64(c.Size() / 2)
	return []Column{
		{"MB/s", perSecond(rows, func(size int) float64 { return pairs * float64(size) / 1e6 })},
		{"Messages/s", perSecond(rows, func(int) float64 { return pairs })},
	}, nil
}

// perSecond turns the time of a window in microseconds into so much for each message a second.
func perSecond(windows []Row, each func(size int) float64) (rows []Row) {
	for _, w := range windows {
		r := Row{Size: w.Size}
		for _, us := range w.Repeats {
			r.Repeats = append(r.Repeats, each(w.Size)*window/us*1e6)
		}
		r.Value = Median(r.Repeats)
		rows = append(rows, r)
	}
	return rows
}

// stream measures the mean time of a window in microseconds.
func (s Sweep) stream(c *mpi.Comm, paired func(*mpi.Comm) (*pair, error), both bool) ([]Row, error) {
	reqs := make([]*mpi.Request, 0, 2*window)
	answer := make([]byte, 4)
	return s.sweep(c, paired, func(p *pair, size int) (float64, error) {
		n := s.counts(size, counts{100, 10}, counts{20, 2})
		var start time.Duration
		for i := range n.warmup + n.iterations {
			if i == n.warmup {
				start = c.Now()
			}
			if err := p.window(size, reqs, answer, both); err != nil {
				return 0, err
			}
		}
		return microseconds(c.Now()-start) / float64(n.iterations), nil
	})
}

// window sends or receives one, or does both. The rank that begins gets the answer.
func (p *pair) window(size int, reqs []*mpi.Request, answer []byte, both bool) error {
	if p.tcp != nil {
		return p.tcp.window(p, size, answer)
	}
	reqs = reqs[:0]
	if p.last || both {
		for range window {
			q, err := mpi.Irecv(p.comm, p.recv[:size], p.peer, tagData)
			if err != nil {
				return err
			}
			reqs = append(reqs, q)
		}
	}
	if p.first || both {
		for range window {
			q, err := mpi.Isend(p.comm, p.send[:size], p.peer, tagData)
			if err != nil {
				return err
			}
			reqs = append(reqs, q)
		}
	}
	if err := mpi.WaitAll(reqs...); err != nil {
		return err
	}
	if p.last {
		return mpi.Send(p.comm, answer, p.peer, tagAnswer)
	}
	_, err := mpi.Recv(p.comm, answer, p.peer, tagAnswer)
	return err
}
