package mpi

import (
	"fmt"
	"math"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// Collectives with blocks of different sizes. Block i of a buffer has counts[i]
// elements and begins at element displs[i]; with nil displs the blocks follow
// each other. Blocks of 0 elements may be anywhere, also outside the buffer.

// total adds up the counts of all ranks.
func (x *collective) total(counts []int) (n int, err error) {
	if len(counts) != x.Ranks {
		return 0, x.miscounted(noValue, "give a count for each of the "+itoa(x.Ranks)+" ranks")
	}
	for i, c := range counts {
		if c < 0 {
			return 0, x.miscounted(noValue, fmt.Sprintf("the count of block %d is negative: %d", i, c))
		}
		if c > math.MaxInt-n {
			return 0, x.miscounted(noValue, "the counts of all blocks together overflow")
		}
		n += c
	}
	return n, nil
}

// divide checks that a buffer of size elements has n blocks as counts and displs
// say. what names the buffer.
func (x *collective) divide(what string, n, size int, counts, displs []int) (coll.Blocks, error) {
	b := coll.Blocks{Unit: x.Elem, Counts: counts, Displs: displs}
	if len(counts) != n || displs != nil && len(displs) != n {
		return b, x.miscounted(noValue, fmt.Sprintf(
			"give the count, and the displacement if any, of each of the %d blocks of %s", n, what))
	}
	if b.Counts == nil {
		b.Counts = []int{} // no blocks
	}
	at := 0
	for i, c := range counts {
		if displs != nil {
			at = displs[i]
		}
		if c < 0 {
			return b, x.miscounted(size*x.Elem, fmt.Sprintf("the count of block %d of %s is negative: %d", i, what, c))
		}
		if c > 0 && (at < 0 || at > size || c > size-at) {
			return b, x.miscounted(size*x.Elem, fmt.Sprintf(
				"block %d, of %d elements from %d, is not within %s, of %d elements", i, c, at, what, size))
		}
		if displs == nil {
			at += c
		}
	}
	return b, nil
}

func gatherv[T Element](c *Comm, name string, send, recv []T, counts, displs []int, root int) (*collective, error) {
	x, err := invokeOn(c, name, coll.Gatherv, send)
	if err == nil {
		err = x.rooted(root)
	}
	if err != nil {
		return x, err
	}
	x.Send = mem.Bytes(send)
	if x.Rank == root {
		x.Recv = mem.Bytes(recv)
		if x.RecvBlocks, err = x.divide("recv", x.Ranks, len(recv), counts, displs); err != nil {
			return x, err
		}
		if x.InPlace = send == nil; !x.InPlace && len(send) != counts[root] {
			return x, x.miscounted(len(x.Send), "send of the root must be as long as its block")
		}
	}
	return x, nil
}

// Gatherv collects the send buffers of all ranks in recv of rank root, that of
// rank i in block i (MPI_Gatherv). All but send is significant at the root only.
// With a nil send there, the root's block is in its place already.
func Gatherv[T Element](c *Comm, send, recv []T, counts, displs []int, root int) error {
	return block(gatherv(c, "Gatherv", send, recv, counts, displs, root))
}

// Igatherv begins a Gatherv (MPI_Igatherv).
func Igatherv[T Element](c *Comm, send, recv []T, counts, displs []int, root int) (*Request, error) {
	return begin(gatherv(c, "Igatherv", send, recv, counts, displs, root))
}

// GathervInit makes a persistent Gatherv (MPI_Gatherv_init).
func GathervInit[T Element](c *Comm, send, recv []T, counts, displs []int, root int) (*Request, error) {
	return persist(gatherv(c, "GathervInit", send, recv, counts, displs, root))
}

func scatterv[T Element](c *Comm, name string, send []T, counts, displs []int, recv []T,
	root int) (*collective, error) {
	x, err := invokeOn(c, name, coll.Scatterv, recv)
	if err == nil {
		err = x.rooted(root)
	}
	if err != nil {
		return x, err
	}
	x.Recv = mem.Bytes(recv)
	if x.Rank == root {
		x.Send = mem.Bytes(send)
		if x.SendBlocks, err = x.divide("send", x.Ranks, len(send), counts, displs); err != nil {
			return x, err
		}
		if x.InPlace = recv == nil; !x.InPlace && len(recv) != counts[root] {
			return x, x.miscounted(len(x.Recv), "recv of the root must be as long as its block")
		}
	}
	return x, nil
}

// Scatterv deals out send of rank root: block i goes to recv of rank i
// (MPI_Scatterv). send, counts and displs are significant at the root only. With
// a nil recv there, the root's block stays where it is.
func Scatterv[T Element](c *Comm, send []T, counts, displs []int, recv []T, root int) error {
	return block(scatterv(c, "Scatterv", send, counts, displs, recv, root))
}

// Iscatterv begins a Scatterv (MPI_Iscatterv).
func Iscatterv[T Element](c *Comm, send []T, counts, displs []int, recv []T, root int) (*Request, error) {
	return begin(scatterv(c, "Iscatterv", send, counts, displs, recv, root))
}

// ScattervInit makes a persistent Scatterv (MPI_Scatterv_init).
func ScattervInit[T Element](c *Comm, send []T, counts, displs []int, recv []T, root int) (*Request, error) {
	return persist(scatterv(c, "ScattervInit", send, counts, displs, recv, root))
}

func allgatherv[T Element](c *Comm, name string, send, recv []T, counts, displs []int) (*collective, error) {
	x, err := invokeOn(c, name, coll.Allgatherv, recv)
	if err == nil {
		x.RecvBlocks, err = x.divide("recv", x.Ranks, len(recv), counts, displs)
	}
	if err != nil {
		return x, err
	}
	x.Send, x.Recv, x.InPlace = mem.Bytes(send), mem.Bytes(recv), send == nil
	if !x.InPlace && len(send) != counts[x.Rank] {
		return x, x.miscounted(len(x.Send), "send must be as long as the caller's block")
	}
	return x, nil
}

// Allgatherv collects the send buffers of all ranks in recv of every rank, that
// of rank i in block i (MPI_Allgatherv). All ranks give the same counts. With a
// nil send, the caller's block is in its place already.
func Allgatherv[T Element](c *Comm, send, recv []T, counts, displs []int) error {
	return block(allgatherv(c, "Allgatherv", send, recv, counts, displs))
}

// Iallgatherv begins an Allgatherv (MPI_Iallgatherv).
func Iallgatherv[T Element](c *Comm, send, recv []T, counts, displs []int) (*Request, error) {
	return begin(allgatherv(c, "Iallgatherv", send, recv, counts, displs))
}

// AllgathervInit makes a persistent Allgatherv (MPI_Allgatherv_init).
func AllgathervInit[T Element](c *Comm, send, recv []T, counts, displs []int) (*Request, error) {
	return persist(allgatherv(c, "AllgathervInit", send, recv, counts, displs))
}

func alltoallv[T Element](c *Comm, name string, send []T, sendCounts, sendDispls []int, recv []T, recvCounts,
	recvDispls []int) (*collective, error) {
	x, err := invokeOn(c, name, coll.Alltoallv, recv)
	if err == nil {
		x.RecvBlocks, err = x.divide("recv", x.Ranks, len(recv), recvCounts, recvDispls)
	}
	if err != nil {
		return x, err
	}
	x.Send, x.Recv, x.InPlace = mem.Bytes(send), mem.Bytes(recv), send == nil && sendCounts == nil
	if x.InPlace {
		return x, nil
	}
	if x.SendBlocks, err = x.divide("send", x.Ranks, len(send), sendCounts, sendDispls); err != nil {
		return x, err
	}
	if sendCounts[x.Rank] != recvCounts[x.Rank] {
		return x, x.miscounted(len(x.Send), "what a rank sends to itself must be as long as what it receives from "+
			"itself")
	}
	return x, nil
}

// Alltoallv sends block i of send to rank i and receives block i of recv from it
// (MPI_Alltoallv). With nil send and sendCounts, the blocks are taken from recv,
// which then gets blocks of the same length.
func Alltoallv[T Element](c *Comm, send []T, sendCounts, sendDispls []int, recv []T, recvCounts,
	recvDispls []int) error {
	return block(alltoallv(c, "Alltoallv", send, sendCounts, sendDispls, recv, recvCounts, recvDispls))
}

// Ialltoallv begins an Alltoallv (MPI_Ialltoallv).
func Ialltoallv[T Element](c *Comm, send []T, sendCounts, sendDispls []int, recv []T, recvCounts,
	recvDispls []int) (*Request, error) {
	return begin(alltoallv(c, "Ialltoallv", send, sendCounts, sendDispls, recv, recvCounts, recvDispls))
}

// AlltoallvInit makes a persistent Alltoallv (MPI_Alltoallv_init).
func AlltoallvInit[T Element](c *Comm, send []T, sendCounts, sendDispls []int, recv []T, recvCounts,
	recvDispls []int) (*Request, error) {
	return persist(alltoallv(c, "AlltoallvInit", send, sendCounts, sendDispls, recv, recvCounts, recvDispls))
}
