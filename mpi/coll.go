package mpi

import (
	"time"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/variants"
)

// Collectives, by the algorithms that the thesis uses (ch. 4): dissemination
// barrier, binomial broadcast and reduction, recursive doubling for Allreduce.
// Their messages travel in a context of their own.

// Tags tell the messages of different collectives apart for those who look on;
// matching relies on their order alone.
const (
	tagBarrier = iota
	tagBcast
	tagReduce
	tagAllreduce
)

var collNames = []string{tagBarrier: "Barrier", tagBcast: "Bcast", tagReduce: "Reduce", tagAllreduce: "Allreduce"}

// Barrier returns when all ranks have called it (MPI_Barrier).
func (c *Comm) Barrier() error {
	if err := c.usable("Barrier"); err != nil {
		return err
	}
	if s := c.rank.stats; s != nil {
		defer s.record("Barrier", 0, time.Now())
	}
	return c.barrier("Barrier")
}

// barrier is the dissemination barrier: in round m a rank signals the one 2^m
// behind it and waits for the one 2^m before it.
func (c *Comm) barrier(op string) error {
	for d := 1; d < c.size; d *= 2 {
		to := (c.Rank() + d) % c.size
		from := (c.Rank() - d + c.size) % c.size
		c.rank.mu.Lock()
		if _, err := c.exchange(op, c.coll, nil, to, tagBarrier, nil, from, tagBarrier); err != nil {
			return err
		}
	}
	return nil
}

// Bcast copies buf of rank root to that of every rank (MPI_Bcast). All buffers
// have the same length.
func Bcast[T Element](c *Comm, buf []T, root int) error {
	b, err := validRoot(c, "Bcast", buf, root)
	if err != nil {
		return err
	}
	if s := c.rank.stats; s != nil {
		defer s.record("Bcast", len(b), time.Now())
	}
	return c.bcast("Bcast", b, root)
}

// bcast goes down a binomial tree: rank r, counted from the root, receives from
// r without its lowest bit.
func (c *Comm) bcast(op string, b []byte, root int) error {
	r := (c.Rank() - root + c.size) % c.size
	bit := 1
	for ; bit < c.size; bit <<= 1 {
		if r&bit != 0 {
			if err := c.collRecv(op, b, (r-bit+root)%c.size, tagBcast); err != nil {
				return err
			}
			break
		}
	}
	for bit >>= 1; bit > 0; bit >>= 1 {
		if r+bit < c.size {
			if err := c.collSend(op, b, (r+bit+root)%c.size, tagBcast); err != nil {
				return err
			}
		}
	}
	return nil
}

// Reduce combines the send buffers of all ranks element by element into recv of
// rank root (MPI_Reduce). recv is significant at the root only, and may be send
// itself there (MPI_IN_PLACE).
func Reduce[T Element](c *Comm, send, recv []T, op Op, root int) error {
	f, err := validOp(c, "Reduce", send, op, root)
	if err != nil {
		return err
	}
	if c.Rank() == root && len(recv) != len(send) {
		return c.fail("Reduce", noValue, noValue, len(mem.Bytes(recv)), ErrCount, "recv at the root must be as long as send")
	}
	if s := c.rank.stats; s != nil {
		defer s.record("Reduce", len(mem.Bytes(send)), time.Now())
	}
	acc, from := borrow[T](c, len(send)), borrow[T](c, len(send))
	defer giveBack(c, acc)
	defer giveBack(c, from)
	copy(acc, send)
	// Operators that do not commute are combined in rank order, towards rank 0.
	top := root
	if !op.commute {
		top = 0
	}
	r := (c.Rank() - top + c.size) % c.size
	for bit := 1; bit < c.size; bit <<= 1 {
		if r&bit != 0 {
			if err := c.collSend("Reduce", mem.Bytes(acc), (r-bit+top)%c.size, tagReduce); err != nil {
				return err
			}
			break
		}
		if r+bit < c.size {
			if err := c.collRecv("Reduce", mem.Bytes(from), (r+bit+top)%c.size, tagReduce); err != nil {
				return err
			}
			f(acc, from) // acc is of lower ranks
			acc, from = from, acc
		}
	}
	switch {
	case top == root:
	case c.Rank() == top:
		return c.collSend("Reduce", mem.Bytes(acc), root, tagReduce)
	case c.Rank() == root:
		return c.collRecv("Reduce", mem.Bytes(recv), top, tagReduce)
	}
	if c.Rank() == root {
		copy(recv, acc)
	}
	return nil
}

// Allreduce combines the send buffers of all ranks element by element into recv
// of every rank (MPI_Allreduce). recv may be send itself (MPI_IN_PLACE).
func Allreduce[T Element](c *Comm, send, recv []T, op Op) error {
	f, err := validOp(c, "Allreduce", send, op, 0)
	if err != nil {
		return err
	}
	if len(recv) != len(send) {
		return c.fail("Allreduce", noValue, noValue, len(mem.Bytes(recv)), ErrCount, "recv must be as long as send")
	}
	if s := c.rank.stats; s != nil {
		defer s.record("Allreduce", len(mem.Bytes(send)), time.Now())
	}
	acc, from := borrow[T](c, len(send)), borrow[T](c, len(send))
	defer giveBack(c, acc)
	defer giveBack(c, from)
	copy(acc, send)

	// Recursive doubling among the largest power of two; of the 2*extra first
	// ranks, those with even numbers lend their data to their neighbours.
	pow := 1
	for 2*pow <= c.size {
		pow *= 2
	}
	extra := c.size - pow
	me := c.Rank()
	virtual := me - extra
	if me < 2*extra {
		if me%2 == 0 {
			if err := c.collSend("Allreduce", mem.Bytes(acc), me+1, tagAllreduce); err != nil {
				return err
			}
			return c.collRecv("Allreduce", mem.Bytes(recv), me+1, tagAllreduce)
		}
		if err := c.collRecv("Allreduce", mem.Bytes(from), me-1, tagAllreduce); err != nil {
			return err
		}
		f(from, acc)
		virtual = me / 2
	}
	for bit := 1; bit < pow; bit <<= 1 {
		peer := virtual ^ bit
		real := peer + extra
		if peer < extra {
			real = 2*peer + 1
		}
		c.rank.mu.Lock()
		if _, err := c.exchange("Allreduce", c.coll, mem.Bytes(acc), real, tagAllreduce, mem.Bytes(from), real, tagAllreduce); err != nil {
			return err
		}
		if peer < virtual {
			f(from, acc)
		} else {
			f(acc, from)
			acc, from = from, acc
		}
	}
	if me < 2*extra {
		if err := c.collSend("Allreduce", mem.Bytes(acc), me-1, tagAllreduce); err != nil {
			return err
		}
	}
	copy(recv, acc)
	return nil
}

func (c *Comm) collSend(op string, b []byte, dest, tag int) error {
	c.rank.mu.Lock()
	return c.sendAndWait(op, c.coll, variants.Standard, b, dest, tag)
}

func (c *Comm) collRecv(op string, b []byte, source, tag int) error {
	c.rank.mu.Lock()
	st, err := c.recvAndWait(op, c.coll, b, source, tag)
	if err == nil && st.bytes != len(b) {
		err = c.fail(op, source, noValue, len(b), ErrCount, "that rank passed "+itoa(st.bytes)+" bytes: all must pass the same")
	}
	return err
}

func validRoot[T Element](c *Comm, op string, buf []T, root int) ([]byte, error) {
	b, err := valid(c, op, buf, ProcNull, 0, false)
	if err != nil {
		return nil, err
	}
	if root < 0 || root >= c.size {
		return nil, c.fail(op, root, noValue, len(b), ErrRoot, "ranks of this communicator are 0 to "+itoa(c.size-1))
	}
	return b, nil
}

func validOp[T Element](c *Comm, name string, send []T, op Op, root int) (func(in, inout []T), error) {
	b, err := validRoot(c, name, send, root)
	if err != nil {
		return nil, err
	}
	f := combiner[T](op)
	if f == nil {
		return nil, c.fail(name, noValue, noValue, len(b), ErrOp, op.name+" does not take these elements")
	}
	return f, nil
}

// borrow returns scratch memory of the rank for n elements.
func borrow[T Element](c *Comm, n int) []T {
	var t [1]T
	bytes := n * len(mem.Bytes(t[:]))
	k := c.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, b := range k.scratch {
		if len(b) >= bytes {
			last := len(k.scratch) - 1
			k.scratch[i] = k.scratch[last]
			k.scratch = k.scratch[:last]
			return mem.Slice[T](b)[:n]
		}
	}
	return mem.Slice[T](mem.Bytes(make([]uint64, max(bytes, 4096)/8+1)))[:n]
}

// scratchKept bounds the scratch buffers that a rank keeps.
const scratchKept = 4

func giveBack[T Element](c *Comm, s []T) {
	k := c.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.scratch) < scratchKept {
		k.scratch = append(k.scratch, mem.Bytes(s[:cap(s)]))
	}
}
