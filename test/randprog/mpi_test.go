package randprog

import (
	"errors"
	"fmt"
	"sync"

	"github.com/exanet-mpi/exanet/mpi"
)

// overMPI is package mpi as a World.
type overMPI struct {
	*mpi.Comm
	recycling bool // the rank recycles what has ended
}

// mpiRequest is a request; one that is persistent is freed when it has been
// waited for. If the rank recycles it is nil then.
type mpiRequest struct {
	*mpi.Request
	persistent, recycled bool
}

// persistent says whether a send or receive is to be a persistent one that is
// started: one of three is.
func persistent(buf []byte, tag int) bool { return (len(buf)+tag)%3 == 0 }

func (w overMPI) started(q *mpi.Request, err error) (Request, error) {
	if err == nil {
		err = q.Start()
	}
	return &mpiRequest{q, true, w.recycling}, err
}

// mpiMessage is a message that a matched probe has taken.
type mpiMessage struct{ m *mpi.Message }

func (m mpiMessage) Recv(buf []byte) (Status, error) {
	if len(buf)%2 == 0 {
		st, err := mpi.Mrecv(m.m, buf)
		return ourStatus(st), ourError(err)
	}
	q, err := mpi.Imrecv(m.m, buf)
	if err != nil {
		return Status{}, err
	}
	st, err := q.Wait()
	return ourStatus(st), ourError(err)
}

func mpiRank(r int) int {
	switch r {
	case AnySource:
		return mpi.AnySource
	case ProcNull:
		return mpi.ProcNull
	}
	return r
}

func mpiTag(t int) int {
	if t == AnyTag {
		return mpi.AnyTag
	}
	return t
}

func ourStatus(st mpi.Status) Status {
	s := Status{Source: st.Source, Tag: st.Tag, Bytes: st.Bytes(), Cancelled: st.Cancelled()}
	switch st.Source {
	case mpi.AnySource:
		s.Source = AnySource
	case mpi.ProcNull:
		s.Source = ProcNull
	}
	if st.Tag == mpi.AnyTag {
		s.Tag = AnyTag
	}
	return s
}

func ourError(err error) error {
	if errors.Is(err, mpi.ErrTruncate) {
		return fmt.Errorf("%w: %w", ErrTruncated, err)
	}
	return err
}

func (w overMPI) Send(mode Mode, buf []byte, dest, tag int) error {
	f := [modes]func(*mpi.Comm, []byte, int, int) error{mpi.Send[byte], mpi.Ssend[byte], mpi.Bsend[byte],
		mpi.Rsend[byte]}
	return f[mode](w.Comm, buf, mpiRank(dest), tag)
}

func (w overMPI) Isend(mode Mode, buf []byte, dest, tag int) (Request, error) {
	f := [modes]func(*mpi.Comm, []byte, int, int) (*mpi.Request, error){
		mpi.Isend[byte], mpi.Issend[byte], mpi.Ibsend[byte], mpi.Irsend[byte]}
	if persistent(buf, tag) {
		f = [modes]func(*mpi.Comm, []byte, int, int) (*mpi.Request, error){
			mpi.SendInit[byte], mpi.SsendInit[byte], mpi.BsendInit[byte], mpi.RsendInit[byte]}
		return w.started(f[mode](w.Comm, buf, mpiRank(dest), tag))
	}
	r, err := f[mode](w.Comm, buf, mpiRank(dest), tag)
	return &mpiRequest{r, false, w.recycling}, err
}

func (w overMPI) Recv(buf []byte, source, tag int) (Status, error) {
	st, err := mpi.Recv(w.Comm, buf, mpiRank(source), mpiTag(tag))
	return ourStatus(st), ourError(err)
}

func (w overMPI) Irecv(buf []byte, source, tag int) (Request, error) {
	if persistent(buf, tag) {
		return w.started(mpi.RecvInit(w.Comm, buf, mpiRank(source), mpiTag(tag)))
	}
	r, err := mpi.Irecv(w.Comm, buf, mpiRank(source), mpiTag(tag))
	return &mpiRequest{r, false, w.recycling}, err
}

func (w overMPI) Sendrecv(send []byte, dest, sendTag int, recv []byte, source, recvTag int) (Status, error) {
	st, err := mpi.Sendrecv(w.Comm, send, mpiRank(dest), sendTag, recv, mpiRank(source), mpiTag(recvTag))
	return ourStatus(st), ourError(err)
}

func (w overMPI) Probe(source, tag int) (Status, error) {
	st, err := w.Comm.Probe(mpiRank(source), mpiTag(tag))
	return ourStatus(st), err
}

func (w overMPI) Iprobe(source, tag int) (bool, Status, error) {
	found, st, err := w.Comm.Iprobe(mpiRank(source), mpiTag(tag))
	return found, ourStatus(st), err
}

func (w overMPI) Mprobe(source, tag int) (Taken, Status, error) {
	m, st, err := w.Comm.Mprobe(mpiRank(source), mpiTag(tag))
	return mpiMessage{m}, ourStatus(st), err
}

func (w overMPI) Improbe(source, tag int) (Taken, Status, error) {
	m, st, err := w.Comm.Improbe(mpiRank(source), mpiTag(tag))
	if m == nil {
		return nil, ourStatus(st), err
	}
	return mpiMessage{m}, ourStatus(st), err
}

func mpiRequests(reqs []Request) (list []*mpi.Request) {
	for _, r := range reqs {
		list = append(list, r.(*mpiRequest).Request)
	}
	return list
}

func (w overMPI) WaitAll(reqs []Request) error {
	err := ourError(mpi.WaitAll(mpiRequests(reqs)...))
	for _, r := range reqs {
		if r := r.(*mpiRequest); w.recycling {
			_ = r.ended(nil)
		}
	}
	return err
}

func (w overMPI) WaitAny(reqs []Request) (int, Status, error) {
	i, st, err := mpi.WaitAny(mpiRequests(reqs)...)
	if i >= 0 && w.recycling {
		err = reqs[i].(*mpiRequest).ended(err)
	}
	return i, ourStatus(st), ourError(err)
}

func (w overMPI) Sum(v []int64) error {
	sum := make([]int64, len(v))
	err := mpi.Allreduce(w.Comm, v, sum, mpi.Sum)
	copy(v, sum)
	return err
}

func (r *mpiRequest) Wait() (Status, error) {
	st, err := r.Request.Wait()
	return ourStatus(st), r.ended(err)
}

func (r *mpiRequest) Test() (bool, Status, error) {
	done, st, err := r.Request.Test()
	if done {
		err = r.ended(err)
	}
	return done, ourStatus(st), err
}

// ended frees a persistent request, once, and forgets one that may be another by now.
func (r *mpiRequest) ended(err error) error {
	if r.persistent {
		_ = r.Free() // an error if it was waited for before
	}
	if r.recycled {
		r.Request = nil
	}
	return ourError(err)
}

// counters sums what the ranks of many jobs count.
type counters struct {
	mu sync.Mutex
	n  map[string]uint64
}

func (c *counters) add(counts map[string]uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]uint64{}
	}
	for k, n := range counts {
		c.n[k] += n
	}
}

// startMPI returns a Start for mpi.Run that adds up the protocol's counters. The
// ranks of every second job recycle.
func startMPI(c *counters, seed uint64, opts ...mpi.Option) Start {
	recycling := seed/seedsPerJob%2 == 1
	if recycling {
		opts = append(opts, mpi.WithRecycling())
	}
	return func(n int, rank func(World) error) error {
		return mpi.Run(n, func(world *mpi.Comm) error {
			err := rank(overMPI{world, recycling})
			c.add(world.Counters())
			return err
		}, opts...)
	}
}
