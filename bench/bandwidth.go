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
	reqs := make([]*mpi.Request, window)
	answer := make([]byte, 4)
	return s.sweep(c, func(p *pair, size int) (float64, error) {
		return p.bandwidth(size, reqs, answer, s.counts(size, counts{100, 10}, counts{20, 2}))
	})
}

func (p *pair) bandwidth(size int, reqs []*mpi.Request, answer []byte, n counts) (float64, error) {
	var start time.Time
	for i := range n.warmup + n.iterations {
		if i == n.warmup {
			start = time.Now()
		}
		var err error
		if p.first {
			err = p.sendWindow(p.send[:size], reqs, answer)
		} else {
			err = p.recvWindow(p.recv[:size], reqs, answer)
		}
		if err != nil {
			return 0, err
		}
	}
	bytes := float64(size) * window * float64(n.iterations)
	return bytes / 1e6 / time.Since(start).Seconds(), nil
}

func (p *pair) sendWindow(buf []byte, reqs []*mpi.Request, answer []byte) (err error) {
	for i := range reqs {
		if reqs[i], err = mpi.Isend(p.comm, buf, p.peer, tagData); err != nil {
			return err
		}
	}
	if err := mpi.WaitAll(reqs...); err != nil {
		return err
	}
	_, err = mpi.Recv(p.comm, answer, p.peer, tagAnswer)
	return err
}

func (p *pair) recvWindow(buf []byte, reqs []*mpi.Request, answer []byte) (err error) {
	for i := range reqs {
		if reqs[i], err = mpi.Irecv(p.comm, buf, p.peer, tagData); err != nil {
			return err
		}
	}
	if err := mpi.WaitAll(reqs...); err != nil {
		return err
	}
	return mpi.Send(p.comm, answer, p.peer, tagAnswer)
}
