//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/mpi"
)

// Topologies are the host's, which may have reordered the ranks. Ours, which the
// collectives among neighbours go by, is made of what the host says of it.

// shaped gives a new communicator the topology of the host's, if it has one. All its
// members call it.
func shaped(handle C.MPI_Comm, c *mpi.Comm) (*mpi.Comm, error) {
	n, err := c, error(nil)
	switch C.exanet_topology(handle) {
	case C.MPI_CART:
		n, err = grid(handle, c)
	case C.MPI_GRAPH:
		n, err = graph(handle, c)
	case C.MPI_DIST_GRAPH:
		n, err = distributed(handle, c)
	default:
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	return n, c.Free()
}

func grid(handle C.MPI_Comm, c *mpi.Comm) (*mpi.Comm, error) {
	var n C.int
	C.PMPI_Cartdim_get(handle, &n)
	dims, periods, coords := make([]C.int, n), make([]C.int, n), make([]C.int, n)
	C.PMPI_Cart_get(handle, n, unsafe.SliceData(dims), unsafe.SliceData(periods), unsafe.SliceData(coords))
	wrap := make([]bool, n)
	for i, p := range periods {
		wrap[i] = p != 0
	}
	return c.Cart(numbers(dims), wrap, false)
}

func graph(handle C.MPI_Comm, c *mpi.Comm) (*mpi.Comm, error) {
	var nodes, edges C.int
	C.PMPI_Graphdims_get(handle, &nodes, &edges)
	index, list := make([]C.int, nodes), make([]C.int, edges)
	C.PMPI_Graph_get(handle, nodes, edges, unsafe.SliceData(index), unsafe.SliceData(list))
	return c.Graph(numbers(index), numbers(list), false)
}

func distributed(handle C.MPI_Comm, c *mpi.Comm) (*mpi.Comm, error) {
	var in, out, weighted C.int
	C.PMPI_Dist_graph_neighbors_count(handle, &in, &out, &weighted)
	sources, dests := make([]C.int, in), make([]C.int, out)
	inweights, outweights := make([]C.int, in), make([]C.int, out)
	C.PMPI_Dist_graph_neighbors(handle, in, unsafe.SliceData(sources), unsafe.SliceData(inweights), out,
		unsafe.SliceData(dests), unsafe.SliceData(outweights))
	return c.DistGraphAdjacent(mpi.Edges{Sources: numbers(sources), Dests: numbers(dests)}, false)
}

func numbers[T ~int32](v []T) []int {
	n := make([]int, len(v))
	for i, x := range v {
		n[i] = int(x)
	}
	return n
}

// near returns how many neighbours there are to receive from and to send to.
func (a *args) near(c *mpi.Comm) (in, out int) {
	sources, dests, err := c.Neighbours()
	a.err = err
	return len(sources), len(dests)
}

//export exanet_Neighbor_allgather
func exanet_Neighbor_allgather(out unsafe.Pointer, outcount int64, outtype handle, in unsafe.Pointer, incount int64,
	intype handle, comm handle, form int32, req unsafe.Pointer) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		return c.NeighbourAllgatherData(a.view(out, outcount, outtype), a.view(in, incount, intype))
	})
}

//export exanet_Neighbor_allgatherv
func exanet_Neighbor_allgatherv(out unsafe.Pointer, outcount int64, outtype handle, in, incounts, displs unsafe.Pointer,
	intype handle, comm handle, form int32, req unsafe.Pointer, large int32) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		sources, _ := a.near(c)
		return c.NeighbourAllgathervData(a.view(out, outcount, outtype),
			a.vector(sources, in, incounts, displs, intype, large))
	})
}

//export exanet_Neighbor_alltoall
func exanet_Neighbor_alltoall(out unsafe.Pointer, outcount int64, outtype handle, in unsafe.Pointer, incount int64,
	intype handle, comm handle, form int32, req unsafe.Pointer) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		return c.NeighbourAlltoallData(a.view(out, outcount, outtype), a.view(in, incount, intype))
	})
}

//export exanet_Neighbor_alltoallv
func exanet_Neighbor_alltoallv(out, outcounts, outdispls unsafe.Pointer, outtype handle, in, incounts,
	indispls unsafe.Pointer, intype handle, comm handle, form int32, req unsafe.Pointer, large int32) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		sources, dests := a.near(c)
		return c.NeighbourAlltoallvData(a.vector(dests, out, outcounts, outdispls, outtype, large),
			a.vector(sources, in, incounts, indispls, intype, large))
	})
}

//export exanet_Neighbor_alltoallw
func exanet_Neighbor_alltoallw(out, outcounts, outdispls, outtypes, in, incounts, indispls, intypes unsafe.Pointer,
	comm handle, form int32, req unsafe.Pointer, large int32) int64 {
	return collective(comm, form, req, func(c *mpi.Comm, a *args) mpi.DataCall {
		sources, dests := a.near(c)
		return c.NeighbourAlltoallvData(
			// addresses in both forms
			a.each(out, a.ints(outcounts, dests, large), a.ints(outdispls, dests, 1), outtypes),
			a.each(in, a.ints(incounts, sources, large), a.ints(indispls, sources, 1), intypes))
	})
}
