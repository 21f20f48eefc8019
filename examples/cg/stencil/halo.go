package stencil

import (
	"fmt"

	"github.com/exanet-mpi/exanet/mpi"
)

// halo exchanges the surface of a field with the ranks around this one.
type halo struct {
	comm  *mpi.Comm
	links []link
	reqs  []*mpi.Request
}

// link is one neighbour: what goes there, what comes from there, and where
// both lie in the field.
type link struct {
	rank             int
	sendTag, recvTag int
	sendBox, recvBox box
	send, recv       []float64
}

// box is a range of points, counted with the layer; hi is exclusive.
type box struct{ lo, hi [3]int }

func (b box) points() int {
	return (b.hi[0] - b.lo[0]) * (b.hi[1] - b.lo[1]) * (b.hi[2] - b.lo[2])
}

// newHalo finds the neighbours of a rank. A layout of one rank has none, and
// its comm may be nil.
func newHalo(comm *mpi.Comm, l Layout, rank int) *halo {
	h := &halo{comm: comm}
	place := l.Place(rank)
	for tag := range 27 {
		d := [3]int{tag%3 - 1, tag/3%3 - 1, tag/9 - 1}
		peer, ok := l.Neighbour(place, d)
		if !ok || d == [3]int{} {
			continue
		}
		// The tag is the direction of travel. What the peer sends us travels
		// the opposite way, whose number is 26 - tag.
		ln := link{rank: peer, sendTag: tag, recvTag: 26 - tag}
		for i, n := range l.Local {
			switch d[i] {
			case -1:
				ln.sendBox.lo[i], ln.sendBox.hi[i] = 1, 2
				ln.recvBox.lo[i], ln.recvBox.hi[i] = 0, 1
			case 0:
				ln.sendBox.lo[i], ln.sendBox.hi[i] = 1, n+1
				ln.recvBox.lo[i], ln.recvBox.hi[i] = 1, n+1
			case 1:
				ln.sendBox.lo[i], ln.sendBox.hi[i] = n, n+1
				ln.recvBox.lo[i], ln.recvBox.hi[i] = n+1, n+2
			}
		}
		ln.send = make([]float64, ln.sendBox.points())
		ln.recv = make([]float64, ln.recvBox.points())
		h.links = append(h.links, ln)
	}
	h.reqs = make([]*mpi.Request, len(h.links))
	return h
}

// exchange fills the layer of f. All receives are posted before the first
// send, so that the sends cannot wait for each other in a circle.
func (h *halo) exchange(f field) error {
	for i := range h.links {
		ln := &h.links[i]
		req, err := mpi.Irecv(h.comm, ln.recv, ln.rank, ln.recvTag)
		if err != nil {
			return fmt.Errorf("halo: receive from rank %d: %w", ln.rank, err)
		}
		h.reqs[i] = req
	}
	for i := range h.links {
		ln := &h.links[i]
		f.pack(ln.send, ln.sendBox)
		if err := mpi.Send(h.comm, ln.send, ln.rank, ln.sendTag); err != nil {
			return fmt.Errorf("halo: send to rank %d: %w", ln.rank, err)
		}
	}
	for i := range h.links {
		ln := &h.links[i]
		if _, err := h.reqs[i].Wait(); err != nil {
			return fmt.Errorf("halo: receive from rank %d: %w", ln.rank, err)
		}
		f.unpack(ln.recv, ln.recvBox)
	}
	return nil
}

// pack copies the points of b into buf, x fastest.
func (f field) pack(buf []float64, b box) {
	at := 0
	for k := b.lo[2]; k < b.hi[2]; k++ {
		for j := b.lo[1]; j < b.hi[1]; j++ {
			at += copy(buf[at:], f.row(j, k)[b.lo[0]:b.hi[0]])
		}
	}
}

// unpack is the reverse of pack.
func (f field) unpack(buf []float64, b box) {
	at := 0
	for k := b.lo[2]; k < b.hi[2]; k++ {
		for j := b.lo[1]; j < b.hi[1]; j++ {
			at += copy(f.row(j, k)[b.lo[0]:b.hi[0]], buf[at:])
		}
	}
}
