package mpi

import (
	"time"
	"unsafe"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// Collectives (thesis, chapter 4). Each exists three times: blocking; beginning
// with I, as a Request to wait for; and ending in Init, as a persistent Request to
// be started. All three perform the schedules of package coll:
//
//	coll.go          how calls become schedules; Barrier
//	coll_move.go     Bcast, Gather, Scatter, Allgather, Alltoall
//	coll_vector.go   the same with blocks of different sizes
//	coll_reduce.go   reductions
//	coll_neighbour.go neighbours in a topology
//	coll_data*.go    all of these on memory that datatypes describe
//	collective.go    how a schedule is performed
//	failed.go        messages of a rank that can not go on
//	turns.go         the tags of calls
//	op.go            operators
//
// Their messages travel in a context of their own.
//
// In place (MPI_IN_PLACE) is a nil send buffer: the input is in recv, at the
// root or at every rank as MPI has it. Scatter and Scatterv take a nil recv at
// the root. Reductions take the same slice for send and recv as well.
//
// If the ranks' arguments do not match, those that can know get an error which
// wraps ErrCount or ErrTruncate; if a rank has died, those whose result depends
// on it get ErrProcFailed. The contents of recv are undefined then.

// invoke starts the description of a call: a collective whose fields the caller
// fills in, for block, begin or persist.
func (c *Comm) invoke(name string, op coll.Collective) (*collective, error) {
	if err := c.usableWithin(name); err != nil {
		return nil, err
	}
	x := c.rank.takeCollective()
	x.c, x.name, x.kind, x.count, x.operator = c, name, nil, ofSlice, ""
	x.Op, x.Rank, x.Ranks, x.Elem, x.Hosts = op, c.Rank(), c.size, 1, c.hosts
	return x, nil
}

// refuse gives up a call whose description is wrong.
func (x *collective) refuse() {
	if x == nil {
		return
	}
	x.c.rank.putCollective(x)
}

// bytes is what the statistics count.
func (x *collective) bytes() int { return max(len(x.Send), len(x.Recv)) }

// block performs a call and returns when it has ended.
func block(x *collective, err error) error {
	if err != nil {
		x.refuse()
		return err
	}
	k := x.c.rank
	if s := k.stats; s != nil {
		defer s.record(x.name, x.bytes(), time.Now())
	}
	err = x.complete()
	k.putCollective(x)
	return err
}

// exchange performs a call by messages.
func (x *collective) exchange() error {
	k := x.c.rank
	x.prepare(int32(x.Op))
	x.enter()
	stop, err := x.announce()
	if err != nil {
		return err
	}
	k.mu.Lock()
	x.wholly(stop)
	if err = x.err; err == nil {
		x.leave()
	}
	k.mu.Unlock()
	if stop != nil {
		x.shm.End()
	}
	return err
}

// last performs the Barrier that ends MPI. Ranks that still wait for this one in shared memory, or by messages,
// are told, and come to it when their calls have failed.
func (x *collective) last() error {
	k := x.c.rank
	x.prepare(int32(x.Op))
	if a := x.c.area; a != nil && !a.IsCut() {
		a.End()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	x.wholly(nil)
	return x.err
}

// begin begins a non-blocking call.
func begin(x *collective, err error) (*Request, error) { return beginAs(x, err, false) }

// beginAs begins a call, of those that do not block or of those that do.
func beginAs(x *collective, err error, blocks bool) (*Request, error) {
	if err != nil {
		x.refuse()
		return nil, err
	}
	k := x.c.rank
	if s := k.stats; s != nil {
		defer s.record(x.name, x.bytes(), time.Now())
	}
	if blocks && (x.c.area != nil || x.c.late) {
		return x.aside()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.check != nil {
		form := formImmediate
		if blocks {
			form = formBlocking
		}
		x.declare(form)
	}
	if blocks {
		x.prepare(int32(x.Op))
		x.line = &x.c.turns.blocking
	} else {
		tag, line := x.c.turns.tag()
		x.prepare(tag)
		x.line = line
	}
	q := k.request(x.c, x.name)
	q.s = x
	k.run(q)
	return q, nil
}

// persist makes a persistent request of a call.
func persist(x *collective, err error) (*Request, error) {
	if err != nil {
		x.refuse()
		return nil, err
	}
	k := x.c.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.check != nil {
		x.declare(formPersistent)
	}
	x.prepare(firstPersistent + x.c.turns.persistent)
	x.c.turns.persistent++
	q := k.request(x.c, x.name)
	q.s = x
	k.fix(q, persistent{})
	return q, nil
}

// Barrier returns when all ranks have called it (MPI_Barrier).
func (c *Comm) Barrier() error {
	if err := c.usableWithin("Barrier"); err != nil {
		return err
	}
	k := c.rank
	if s := k.stats; s != nil {
		defer s.record("Barrier", 0, time.Now())
	}
	// All barriers of a communicator have one description.
	x := c.barriers
	if x == nil {
		x = &collective{c: c, name: "Barrier"}
		x.Op, x.Rank, x.Ranks, x.Hosts = coll.Barrier, c.Rank(), c.size, c.hosts
		c.barriers = x
	}
	return x.complete()
}

// Ibarrier begins a Barrier (MPI_Ibarrier).
func (c *Comm) Ibarrier() (*Request, error) { return begin(c.invoke("Ibarrier", coll.Barrier)) }

// BarrierCall describes a Barrier as other calls on Data are.
func (c *Comm) BarrierCall() DataCall { return described(c.invoke("Barrier", coll.Barrier)) }

// BarrierInit makes a persistent Barrier (MPI_Barrier_init).
func (c *Comm) BarrierInit() (*Request, error) { return persist(c.invoke("BarrierInit", coll.Barrier)) }

// invokeOn is invoke for a call with buffers of T.
func invokeOn[T Element](c *Comm, name string, op coll.Collective, buf []T) (*collective, error) {
	x, err := c.invoke(name, op)
	if err == nil {
		_, err = valid(c, name, buf, ProcNull, 0, false)
		x.Elem, x.kind = mem.Size[T](), typeOf[T]()
	}
	return x, err
}

// rooted sets the root of a call.
func (x *collective) rooted(root int) error {
	if root < 0 || root >= x.Ranks {
		return x.c.fail(x.name, root, noValue, noValue, ErrRoot, "ranks of this communicator are 0 to "+itoa(x.Ranks-1))
	}
	x.Root = root
	return nil
}

func (x *collective) miscounted(size int, do string) error {
	return x.c.fail(x.name, noValue, noValue, size, ErrCount, do)
}

// uniform is the division of a buffer into a block of n elements for each rank.
func (x *collective) uniform(n int) coll.Blocks { return coll.Blocks{Unit: x.Elem, N: n} }

// shared divides a buffer of n elements equally among the ranks.
func (x *collective) shared(n int, what string) (coll.Blocks, error) {
	if n%x.Ranks != 0 {
		return coll.Blocks{}, x.miscounted(n*x.Elem, what+" must have as many elements for each of the "+itoa(x.Ranks)+
			" ranks")
	}
	return x.uniform(n / x.Ranks), nil
}

// same reports whether two slices begin at the same place.
func same[T Element](a, b []T) bool {
	return len(a) > 0 && len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}
