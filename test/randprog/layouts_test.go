package randprog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/test/randtype"
)

// overLayouts is package mpi as a World in which most messages are scattered over
// memory, by datatypes that sender and receiver draw each for itself. What lies
// between their data must stay as it was.
type overLayouts struct {
	overMPI
	drawn *atomic.Uint64
}

// layoutsVar makes rank processes use overLayouts.
const layoutsVar = "EXANET_TEST_LAYOUTS"

func worldOf(c *mpi.Comm) World {
	if os.Getenv(layoutsVar) != "" {
		return overLayouts{overMPI{Comm: c}, new(atomic.Uint64)}
	}
	return overMPI{Comm: c}
}

// scattered is the data of a buffer of n bytes in a layout of their own.
type scattered struct {
	*randtype.Message
	n int
}

// scatter draws a layout for n bytes; nil stands for the buffer itself.
func (w overLayouts) scatter(n int) *scattered {
	r := rand.New(rand.NewPCG(w.drawn.Add(1), uint64(w.Rank())))
	if n == 0 || r.IntN(4) == 0 {
		return nil
	}
	x := randtype.Draw(r, datatype.Byte, r.IntN(3), []int{1, 8, 100, 10000}[r.IntN(4)])
	count, rest := n/x.Size(), n%x.Size()
	_, extent := x.Extent()
	whole, err := datatype.Struct([]int{count, rest}, []int{0, count*extent + 64}, []*datatype.Type{x, datatype.Byte})
	if err != nil {
		panic(err)
	}
	return &scattered{randtype.New(1, whole, r.Uint64()), n}
}

// data describes the message by a pointer to it, or by absolute addresses
// (MPI_BOTTOM).
func (s *scattered) data() mpi.Data {
	if s.n%4 > 0 {
		return mpi.At(s.View.Base, s.View.Count, s.View.Type)
	}
	t, err := datatype.Hindexed([]int{s.View.Count}, []int{int(mem.AddrOf(s.View.Base))}, s.View.Type)
	if err != nil {
		panic(err)
	}
	return mpi.At(nil, 1, t)
}

// outgoing scatters a message; sent is called when its memory may be used again.
func (w overLayouts) outgoing(buf []byte) (d mpi.Data, sent func()) {
	s := w.scatter(len(buf))
	if s == nil {
		return mpi.Of(buf), func() {}
	}
	s.View.Unpack(buf, 0)
	return s.data(), s.Scribble
}

// incoming makes room for a message; got is called when it is there.
func (w overLayouts) incoming(buf []byte) (d mpi.Data, got func(mpi.Status, error) error) {
	s := w.scatter(len(buf))
	if s == nil {
		return mpi.Of(buf), func(_ mpi.Status, err error) error { return err }
	}
	return s.data(), func(st mpi.Status, err error) error {
		n := st.Bytes()
		if err != nil || st.Cancelled() || st.Source == mpi.ProcNull {
			n = 0 // and nothing may have been written
		}
		if n > len(buf) {
			return fmt.Errorf("a message of %d bytes for a receive of %d", n, len(buf))
		}
		s.View.Pack(buf[:n], 0)
		return errors.Join(err, s.Check(buf[:n]))
	}
}

func (w overLayouts) Send(mode Mode, buf []byte, dest, tag int) error {
	d, sent := w.outgoing(buf)
	defer sent()
	f := [modes]func(mpi.Data, int, int) error{w.SendData, w.SsendData, w.BsendData, w.RsendData}
	return f[mode](d, mpiRank(dest), tag)
}

// layoutRequest is a request with what is to be done when it has completed.
type layoutRequest struct {
	*mpi.Request
	end func(mpi.Status, error) error // once
}

func (r *layoutRequest) ended(st mpi.Status, err error) (Status, error) {
	if r.end != nil {
		err = r.end(st, err)
		r.end = nil
	}
	return ourStatus(st), ourError(err)
}

func (r *layoutRequest) Wait() (Status, error) { return r.ended(r.Request.Wait()) }

func (r *layoutRequest) Test() (bool, Status, error) {
	done, st, err := r.Request.Test()
	if !done {
		return false, Status{}, ourError(err)
	}
	s, err := r.ended(st, err)
	return true, s, err
}

func (w overLayouts) Isend(mode Mode, buf []byte, dest, tag int) (Request, error) {
	d, sent := w.outgoing(buf)
	f := [modes]func(mpi.Data, int, int) (*mpi.Request, error){w.IsendData, w.IssendData, w.IbsendData, w.IrsendData}
	r, err := f[mode](d, mpiRank(dest), tag)
	return &layoutRequest{r, func(_ mpi.Status, err error) error {
		sent()
		return err
	}}, err
}

func (w overLayouts) Recv(buf []byte, source, tag int) (Status, error) {
	d, got := w.incoming(buf)
	st, err := w.RecvData(d, mpiRank(source), mpiTag(tag))
	return ourStatus(st), ourError(got(st, err))
}

func (w overLayouts) Irecv(buf []byte, source, tag int) (Request, error) {
	d, got := w.incoming(buf)
	r, err := w.IrecvData(d, mpiRank(source), mpiTag(tag))
	return &layoutRequest{r, got}, err
}

func (w overLayouts) Sendrecv(send []byte, dest, sendTag int, recv []byte, source, recvTag int) (Status, error) {
	out, sent := w.outgoing(send)
	defer sent()
	in, got := w.incoming(recv)
	st, err := w.SendrecvData(out, mpiRank(dest), sendTag, in, mpiRank(source), mpiTag(recvTag))
	return ourStatus(st), ourError(got(st, err))
}

// WaitAll waits for one after the other: what is to be checked depends on each
// status.
func (w overLayouts) WaitAll(reqs []Request) (first error) {
	for _, r := range reqs {
		if _, err := r.Wait(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (w overLayouts) WaitAny(reqs []Request) (int, Status, error) {
	var list []*mpi.Request
	for _, r := range reqs {
		list = append(list, r.(*layoutRequest).Request)
	}
	i, st, err := mpi.WaitAny(list...)
	if i < 0 {
		return i, ourStatus(st), ourError(err)
	}
	s, err := reqs[i].(*layoutRequest).ended(st, err)
	return i, s, err
}

// Messages scattered by datatypes between goroutines of this process.
func TestRandomLayouts(t *testing.T) {
	for _, p := range plays {
		t.Run(p.name, func(t *testing.T) {
			programs := 60
			if testing.Short() {
				programs = 12
			} else if p.name == mpi.DefaultVariant && !underRace {
				programs = 300
			}
			var c counters
			start := func(n int, rank func(World) error) error {
				return mpi.Run(n, func(world *mpi.Comm) error {
					err := rank(overLayouts{overMPI{Comm: world}, new(atomic.Uint64)})
					c.add(world.Counters())
					return err
				}, p.options()...)
			}
			for seed := *firstFlag; seed < *firstFlag+uint64(programs); seed += seedsPerJob {
				_, err := Drive(start, Seeds(seed, seedsPerJob, p.rules()), *hangFlag)
				require.NoError(t, err)
			}
			require.NotZero(t, c.n["writes"])
			require.True(t, testing.Short() || c.n["truncations"] > 0)
		})
	}
}

// The same between processes: that reach each other's memory, that do not, and
// on the prototype's devices.
func TestProcessesLayouts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	for _, how := range []struct{ name, role, device string }{
		{"attach", launcher, "host"}, {"no attach", confined, "host"},
		{"prototype messages", launcher, "prototype"}, {"registers", launcher, "registers"},
	} {
		t.Run(how.name, func(t *testing.T) {
			for _, p := range playsOfProcesses() {
				t.Run(p.name, func(t *testing.T) {
					j := jobs{how.role, nil, []string{layoutsVar + "=1", "EXANET_DEVICE=" + how.device}, 2, 8}
					if p.name == mpi.DefaultVariant {
						j.number, j.programs = 5, 16
					}
					require.NotZero(t, j.run(t, &p)["writes"])
				})
			}
		})
	}
}
