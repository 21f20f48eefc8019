package mpi

import (
	"fmt"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/topo"
)

// Neighbour collectives: every rank exchanges with its neighbours in the
// topology of the communicator, see Cart, Graph and DistGraph. Blocks are in the
// order of Neighbours; on a grid that is below and above in each dimension. The
// block of a neighbour that does not exist, beyond the end of a grid, is left
// alone.

// invokeNear is invokeOn for a call among neighbours.
func invokeNear[T Element](c *Comm, name string, op coll.Collective, buf []T) (*collective, error) {
	x, err := invokeOn(c, name, op, buf)
	if err == nil {
		err = x.meet()
	}
	return x, err
}

// meet finds the caller's neighbours.
func (x *collective) meet() (err error) {
	c := x.c
	if c.topology == nil {
		return c.fail(x.name, noValue, noValue, noValue, fmt.Errorf("%w: there are no neighbours", ErrTopology),
			"use a communicator that Cart, Graph or DistGraph has made")
	}
	_, x.Cartesian = c.topology.(*topo.Cart)
	x.Sources, x.Dests, err = c.Neighbours()
	return err
}

// each divides a buffer of size elements into as many equal blocks.
func (x *collective) each(what string, n, size int) (coll.Blocks, error) {
	if n == 0 {
		return x.uniform(0), nil
	}
	if size%n != 0 {
		return coll.Blocks{}, x.miscounted(size*x.Elem,
			fmt.Sprintf("%s must have as many elements for each of the %d neighbours", what, n))
	}
	return x.uniform(size / n), nil
}

func neighbourAllgather[T Element](c *Comm, name string, send, recv []T) (*collective, error) {
	x, err := invokeNear(c, name, coll.NeighborAllgather, recv)
	if err == nil {
		x.RecvBlocks, err = x.each("recv", len(x.Sources), len(recv))
	}
	if err != nil {
		return x, err
	}
	x.Send, x.Recv = mem.Bytes(send), mem.Bytes(recv)
	return x, nil
}

// NeighbourAllgather sends send to the neighbours and receives theirs, which have
// the same length, into recv (MPI_Neighbor_allgather).
func NeighbourAllgather[T Element](c *Comm, send, recv []T) error {
	return block(neighbourAllgather(c, "NeighbourAllgather", send, recv))
}

// IneighbourAllgather begins a NeighbourAllgather (MPI_Ineighbor_allgather).
func IneighbourAllgather[T Element](c *Comm, send, recv []T) (*Request, error) {
	return begin(neighbourAllgather(c, "IneighbourAllgather", send, recv))
}

// NeighbourAllgatherInit makes a persistent NeighbourAllgather
// (MPI_Neighbor_allgather_init).
func NeighbourAllgatherInit[T Element](c *Comm, send, recv []T) (*Request, error) {
	return persist(neighbourAllgather(c, "NeighbourAllgatherInit", send, recv))
}

func neighbourAllgatherv[T Element](c *Comm, name string, send, recv []T, counts, displs []int) (*collective, error) {
	x, err := invokeNear(c, name, coll.NeighborAllgatherv, recv)
	if err == nil {
		x.RecvBlocks, err = x.divide("recv", len(x.Sources), len(recv), counts, displs)
	}
	if err != nil {
		return x, err
	}
	x.Send, x.Recv = mem.Bytes(send), mem.Bytes(recv)
	return x, nil
}

// NeighbourAllgatherv is NeighbourAllgather with a block of its own length for each
// neighbour (MPI_Neighbor_allgatherv).
func NeighbourAllgatherv[T Element](c *Comm, send, recv []T, counts, displs []int) error {
	return block(neighbourAllgatherv(c, "NeighbourAllgatherv", send, recv, counts, displs))
}

// IneighbourAllgatherv begins a NeighbourAllgatherv (MPI_Ineighbor_allgatherv).
func IneighbourAllgatherv[T Element](c *Comm, send, recv []T, counts, displs []int) (*Request, error) {
	return begin(neighbourAllgatherv(c, "IneighbourAllgatherv", send, recv, counts, displs))
}

// NeighbourAllgathervInit makes a persistent NeighbourAllgatherv
// (MPI_Neighbor_allgatherv_init).
func NeighbourAllgathervInit[T Element](c *Comm, send, recv []T, counts, displs []int) (*Request, error) {
	return persist(neighbourAllgatherv(c, "NeighbourAllgathervInit", send, recv, counts, displs))
}

func neighbourAlltoall[T Element](c *Comm, name string, send, recv []T) (*collective, error) {
	x, err := invokeNear(c, name, coll.NeighborAlltoall, recv)
	if err == nil {
		x.RecvBlocks, err = x.each("recv", len(x.Sources), len(recv))
	}
	if err == nil {
		x.SendBlocks, err = x.each("send", len(x.Dests), len(send))
	}
	if err != nil {
		return x, err
	}
	x.Send, x.Recv = mem.Bytes(send), mem.Bytes(recv)
	return x, nil
}

// NeighbourAlltoall sends a block of send to each neighbour and receives a block
// of recv from each (MPI_Neighbor_alltoall). All blocks have the same length.
func NeighbourAlltoall[T Element](c *Comm, send, recv []T) error {
	return block(neighbourAlltoall(c, "NeighbourAlltoall", send, recv))
}

// IneighbourAlltoall begins a NeighbourAlltoall (MPI_Ineighbor_alltoall).
func IneighbourAlltoall[T Element](c *Comm, send, recv []T) (*Request, error) {
	return begin(neighbourAlltoall(c, "IneighbourAlltoall", send, recv))
}

// NeighbourAlltoallInit makes a persistent NeighbourAlltoall
// (MPI_Neighbor_alltoall_init).
func NeighbourAlltoallInit[T Element](c *Comm, send, recv []T) (*Request, error) {
	return persist(neighbourAlltoall(c, "NeighbourAlltoallInit", send, recv))
}

func neighbourAlltoallv[T Element](c *Comm, name string, send []T, sendCounts, sendDispls []int, recv []T, recvCounts,
	recvDispls []int) (*collective, error) {
	x, err := invokeNear(c, name, coll.NeighborAlltoallv, recv)
	if err == nil {
		x.RecvBlocks, err = x.divide("recv", len(x.Sources), len(recv), recvCounts, recvDispls)
	}
	if err == nil {
		x.SendBlocks, err = x.divide("send", len(x.Dests), len(send), sendCounts, sendDispls)
	}
	if err != nil {
		return x, err
	}
	x.Send, x.Recv = mem.Bytes(send), mem.Bytes(recv)
	return x, nil
}

// NeighbourAlltoallv is NeighbourAlltoall with blocks of different lengths
// (MPI_Neighbor_alltoallv).
func NeighbourAlltoallv[T Element](c *Comm, send []T, sendCounts, sendDispls []int, recv []T, recvCounts,
	recvDispls []int) error {
	return block(neighbourAlltoallv(c, "NeighbourAlltoallv", send, sendCounts, sendDispls, recv, recvCounts,
		recvDispls))
}

// IneighbourAlltoallv begins a NeighbourAlltoallv (MPI_Ineighbor_alltoallv).
func IneighbourAlltoallv[T Element](c *Comm, send []T, sendCounts, sendDispls []int, recv []T, recvCounts,
	recvDispls []int) (*Request, error) {
	return begin(neighbourAlltoallv(c, "IneighbourAlltoallv", send, sendCounts, sendDispls, recv, recvCounts,
		recvDispls))
}

// NeighbourAlltoallvInit makes a persistent NeighbourAlltoallv
// (MPI_Neighbor_alltoallv_init).
func NeighbourAlltoallvInit[T Element](c *Comm, send []T, sendCounts, sendDispls []int, recv []T, recvCounts,
	recvDispls []int) (*Request, error) {
	return persist(neighbourAlltoallv(c, "NeighbourAlltoallvInit", send, sendCounts, sendDispls, recv, recvCounts,
		recvDispls))
}
