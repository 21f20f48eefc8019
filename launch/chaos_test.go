package launch_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"

	"github.com/exanet-mpi/exanet/mpi"
)

func init() { roles["chaos"] = chaosRole }

// What a rank of the chaos program prints when it ends.
const (
	sawDeath   = "saw the death"
	unexpected = "UNEXPECTED"
)

// chaosRole communicates at random for ever. It ends when a call fails, as it
// must after the death of another rank.
func chaosRole(args []string) int {
	rank := os.Getenv("EXANET_RANK")
	seed, err := strconv.ParseUint(args[0], 10, 64)
	if err == nil {
		err = chaos(seed)
	}
	if errors.Is(err, mpi.ErrProcFailed) {
		fmt.Fprintf(os.Stderr, "rank %s %s: %v\n", rank, sawDeath, err)
		return 3
	}
	fmt.Fprintf(os.Stderr, "rank %s %s: %v\n", rank, unexpected, err)
	return 4
}

// chaos plays rounds that all ranks draw from the same random numbers.
func chaos(seed uint64) error {
	world, err := mpi.Init()
	if err != nil {
		return err
	}
	me, n := world.Rank(), world.Size()
	shared := rand.New(rand.NewPCG(seed, 1))
	for round := range 1 << 30 {
		size := chaosSize(shared)
		shift := 1 + shared.IntN(n-1)
		to, from := (me+shift)%n, (me-shift+n)%n
		out, in := make([]byte, size), make([]byte, size)
		fill(out, me, round)
		var err error
		switch shared.IntN(7) {
		case 0: // everybody at once, receives first
			err = exchange(world, out, in, to, from, round, true)
		case 1: // and last
			err = exchange(world, out, in, to, from, round, false)
		case 2: // a chain of blocking calls
			if me > 0 {
				from = me - 1
				_, err = mpi.Recv(world, in, from, round&0xff)
			} else {
				fill(in, from, round)
			}
			if err == nil && me < n-1 {
				err = mpi.Send(world, out, me+1, round&0xff)
			}
		case 3: // any source, any tag
			fill(in, from, round)
			err = gather(world, out, round)
		case 4:
			sums := make([]int64, 1+size/64)
			for i := range sums {
				sums[i] = int64(me + i)
			}
			got := make([]int64, len(sums))
			err = mpi.Allreduce(world, sums, got, mpi.Sum)
			for i := range got {
				if err == nil && got[i] != int64(n*(n-1)/2+n*i) {
					return fmt.Errorf("round %d: element %d of the sum is %d", round, i, got[i])
				}
			}
			fill(in, from, round)
		case 5:
			fill(in, from, round)
			err = world.Barrier()
		case 6:
			fill(in, from, round)
			err = communicators(world)
		}
		if err != nil {
			return fmt.Errorf("round %d, %d bytes: %w", round, size, err)
		}
		if at := differs(in, from, round); at >= 0 {
			return fmt.Errorf("round %d: byte %d of %d from rank %d is wrong", round, at, size, from)
		}
	}
	return errors.New("no death")
}

// chaosSize favours the sizes about which the protocols change.
func chaosSize(r *rand.Rand) int {
	switch r.IntN(4) {
	case 0:
		return r.IntN(64)
	case 1:
		return r.IntN(5 << 10)
	case 2:
		return r.IntN(64 << 10)
	default:
		return r.IntN(1 << 20)
	}
}

func exchange(world *mpi.Comm, out, in []byte, to, from, round int, recvFirst bool) error {
	tag := round & 0xff
	reqs := make([]*mpi.Request, 0, 2)
	for _, recv := range []bool{recvFirst, !recvFirst} {
		var r *mpi.Request
		var err error
		if recv {
			r, err = mpi.Irecv(world, in, from, tag)
		} else {
			r, err = mpi.Isend(world, out, to, tag)
		}
		if err != nil {
			return err
		}
		reqs = append(reqs, r)
	}
	return mpi.WaitAll(reqs...)
}

// gather sends a message of every other rank to one, which takes them as they
// come.
func gather(world *mpi.Comm, out []byte, round int) error {
	me, n := world.Rank(), world.Size()
	if root := round % n; me != root {
		if err := mpi.Send(world, out, root, me); err != nil {
			return err
		}
	} else {
		in := make([]byte, len(out))
		for range n - 1 {
			st, err := mpi.Recv(world, in, mpi.AnySource, mpi.AnyTag)
			if err != nil {
				return err
			}
			if at := differs(in, st.Source, round); at >= 0 || st.Tag != st.Source {
				return fmt.Errorf("byte %d of %d from rank %d (tag %d) is wrong", at, len(in), st.Source, st.Tag)
			}
		}
	}
	// The messages of the next round must not be taken for this one's.
	return world.Barrier()
}

// communicators makes some of each kind.
func communicators(world *mpi.Comm) error {
	d, err := world.Dup()
	if err != nil {
		return err
	}
	half, err := d.Split(world.Rank()%2, 0)
	if err != nil {
		return err
	}
	inter, err := half.InterCreate(0, d, 1-world.Rank()%2, 0)
	if err != nil {
		return err
	}
	all, err := inter.Merge(world.Rank()%2 == 1)
	if err != nil {
		return err
	}
	got := []int{0}
	if err := mpi.Allreduce(all, []int{1}, got, mpi.Sum); err != nil {
		return err
	}
	if got[0] != world.Size() {
		return fmt.Errorf("%d ranks of %d in the merged communicator", got[0], world.Size())
	}
	for _, c := range []*mpi.Comm{d, half, inter, all} {
		if err := c.Free(); err != nil {
			return err
		}
	}
	return nil
}

func pattern(rank, round, i int) byte { return byte(rank*31 + round*7 + i + i>>8) }

func fill(b []byte, rank, round int) {
	for i := range b {
		b[i] = pattern(rank, round, i)
	}
}

// differs returns the index of the first byte that is not as fill left it.
func differs(b []byte, rank, round int) int {
	for i, x := range b {
		if x != pattern(rank, round, i) {
			return i
		}
	}
	return -1
}
