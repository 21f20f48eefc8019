package mpi

import (
	"fmt"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/datatype"
)

// BcastData copies data of rank root to that of every rank (MPI_Bcast).
func (c *Comm) BcastData(data datatype.View, root int) DataCall {
	x, err := c.onData("Bcast", coll.Bcast, data)
	if err == nil {
		err = x.rooted(root)
	}
	if err == nil {
		x.Recv = x.packed(data, x.Rank == root, x.Rank != root)
	}
	return described(x, err)
}

// betweenRoot begins a call that moves data between the root and each rank, the
// caller's being own, which may be InPlace at the root.
func (c *Comm) betweenRoot(name string, op coll.Collective, own datatype.View, root int) (*collective, error) {
	x, err := c.onData(name, op)
	if err == nil {
		err = x.rooted(root)
	}
	if err == nil {
		err = x.place(own, x.Rank == root)
	}
	return x, err
}

// GatherData collects the send data of all ranks at rank root (MPI_Gather). recv
// is the block of one rank; those of all ranks follow each other in memory. It is
// significant at the root only. send may be InPlace there.
func (c *Comm) GatherData(send, recv datatype.View, root int) DataCall {
	x, err := c.betweenRoot("Gather", coll.Gather, send, root)
	if err == nil && x.Rank == root {
		err = x.validData(recv)
	}
	if err != nil {
		return described(x, err)
	}
	if x.Rank == root {
		x.RecvBlocks = blocksOf(recv)
		x.Recv = x.packed(times(recv, x.Ranks), x.InPlace, true)
	}
	return described(x, x.sending(send, recv))
}

// sending takes the send data of a call, which are as long as a block of recv if
// the caller receives.
func (x *collective) sending(send, recv datatype.View) error {
	if x.InPlace {
		return nil
	}
	if x.RecvBlocks.Unit > 0 && send.Size() != recv.Size() {
		return x.miscounted(recv.Size(), fmt.Sprintf(
			"a block to be received must be as long as the send data, %d bytes", send.Size()))
	}
	x.Send = x.packed(send, true, false)
	return nil
}

// GathervData is GatherData with blocks of different sizes (MPI_Gatherv).
func (c *Comm) GathervData(send datatype.View, recv Vector, root int) DataCall {
	x, err := c.betweenRoot("Gatherv", coll.Gatherv, send, root)
	if err != nil {
		return described(x, err)
	}
	if x.Rank == root {
		own := func(i int) bool { return i == root && x.InPlace }
		if x.RecvBlocks.Each, err = x.blocks(recv, x.Ranks, "recv", false, true, own); err != nil {
			return described(x, err)
		}
		if !x.InPlace && send.Size() != len(x.RecvBlocks.Each[root]) {
			return described(x, x.miscounted(send.Size(), "send data of the root must be as long as its block"))
		}
	}
	if !x.InPlace {
		x.Send = x.packed(send, true, false)
	}
	return described(x, nil)
}

// ScatterData deals out the send data of rank root (MPI_Scatter). send is the
// block of one rank; those of all ranks follow each other in memory. It is
// significant at the root only. recv may be InPlace there.
func (c *Comm) ScatterData(send, recv datatype.View, root int) DataCall {
	x, err := c.betweenRoot("Scatter", coll.Scatter, recv, root)
	if err == nil && x.Rank == root {
		err = x.validData(send)
	}
	if err != nil {
		return described(x, err)
	}
	if x.Rank == root {
		x.SendBlocks = blocksOf(send)
		x.Send = x.packed(times(send, x.Ranks), true, false)
		if !x.InPlace && recv.Size() != send.Size() {
			return described(x, x.miscounted(send.Size(),
				fmt.Sprintf("a block to be sent must be as long as the receive data, %d bytes", recv.Size())))
		}
	}
	if !x.InPlace {
		x.Recv = x.packed(recv, false, true)
	}
	return described(x, nil)
}

// ScattervData is ScatterData with blocks of different sizes (MPI_Scatterv).
func (c *Comm) ScattervData(send Vector, recv datatype.View, root int) DataCall {
	x, err := c.betweenRoot("Scatterv", coll.Scatterv, recv, root)
	if err != nil {
		return described(x, err)
	}
	if x.Rank == root {
		if x.SendBlocks.Each, err = x.blocks(send, x.Ranks, "send", true, false, nil); err != nil {
			return described(x, err)
		}
		if !x.InPlace && recv.Size() != len(x.SendBlocks.Each[root]) {
			return described(x, x.miscounted(recv.Size(), "receive data of the root must be as long as its block"))
		}
	}
	if !x.InPlace {
		x.Recv = x.packed(recv, false, true)
	}
	return described(x, nil)
}

// AllgatherData collects the send data of all ranks at every rank
// (MPI_Allgather). recv is the block of one rank; those of all ranks follow each
// other in memory. send may be InPlace.
func (c *Comm) AllgatherData(send, recv datatype.View) DataCall {
	x, err := c.onData("Allgather", coll.Allgather, recv)
	if err == nil {
		err = x.place(send, true)
	}
	if err != nil {
		return described(x, err)
	}
	x.RecvBlocks = blocksOf(recv)
	x.Recv = x.packed(times(recv, x.Ranks), x.InPlace, true)
	return described(x, x.sending(send, recv))
}

// AllgathervData is AllgatherData with blocks of different sizes
// (MPI_Allgatherv).
func (c *Comm) AllgathervData(send datatype.View, recv Vector) DataCall {
	x, err := c.onData("Allgatherv", coll.Allgatherv)
	if err == nil {
		err = x.place(send, true)
	}
	if err != nil {
		return described(x, err)
	}
	if x.RecvBlocks.Each, err = x.blocks(recv, x.Ranks, "recv", x.InPlace, true, nil); err != nil {
		return described(x, err)
	}
	if x.InPlace {
		return described(x, nil)
	}
	if send.Size() != len(x.RecvBlocks.Each[x.Rank]) {
		return described(x, x.miscounted(send.Size(), "send data must be as long as the caller's block"))
	}
	x.Send = x.packed(send, true, false)
	return described(x, nil)
}

// AlltoallData sends a block to every rank and receives one from every rank
// (MPI_Alltoall). send and recv are the block of one rank; those of all ranks
// follow each other in memory. send may be InPlace.
func (c *Comm) AlltoallData(send, recv datatype.View) DataCall {
	x, err := c.onData("Alltoall", coll.Alltoall, recv)
	if err == nil {
		err = x.place(send, true)
	}
	if err != nil {
		return described(x, err)
	}
	x.RecvBlocks = blocksOf(recv)
	x.Recv = x.packed(times(recv, x.Ranks), x.InPlace, true)
	if x.InPlace {
		return described(x, nil)
	}
	if send.Size() != recv.Size() {
		return described(x, x.miscounted(recv.Size(),
			fmt.Sprintf("blocks to be received must be as long as those sent, %d bytes", send.Size())))
	}
	x.SendBlocks = blocksOf(send)
	x.Send = x.packed(times(send, x.Ranks), true, false)
	return described(x, nil)
}

// AlltoallvData is AlltoallData with blocks of different sizes (MPI_Alltoallv,
// and MPI_Alltoallw if the vectors have Types). send without Counts is in place.
func (c *Comm) AlltoallvData(send, recv Vector) DataCall {
	x, err := c.onData("Alltoallv", coll.Alltoallv)
	if err != nil {
		return described(x, err)
	}
	if recv.Types != nil {
		x.Op, x.name = coll.Alltoallw, "Alltoallw"
	}
	x.InPlace = send.Counts == nil
	if x.RecvBlocks.Each, err = x.blocks(recv, x.Ranks, "recv", x.InPlace, true, nil); err != nil || x.InPlace {
		return described(x, err)
	}
	if x.SendBlocks.Each, err = x.blocks(send, x.Ranks, "send", true, false, nil); err == nil &&
		len(x.SendBlocks.Each[x.Rank]) != len(x.RecvBlocks.Each[x.Rank]) {
		err = x.miscounted(noValue, "what a rank sends to itself must be as long as what it receives from itself")
	}
	return described(x, err)
}

// near is onData for a call among neighbours.
func (c *Comm) near(name string, op coll.Collective, data ...datatype.View) (*collective, error) {
	x, err := c.onData(name, op, data...)
	if err == nil {
		err = x.meet()
	}
	return x, err
}

// absent reports whether there is no neighbour to receive block i from.
func (x *collective) absent(i int) bool { return x.Sources[i] < 0 }

// NeighbourAllgatherData sends data to the neighbours and receives theirs
// (MPI_Neighbor_allgather). recv is the block of one neighbour; those of all
// follow each other in memory.
func (c *Comm) NeighbourAllgatherData(send, recv datatype.View) DataCall {
	x, err := c.near("NeighbourAllgather", coll.NeighborAllgather, send, recv)
	if err != nil {
		return described(x, err)
	}
	x.RecvBlocks = blocksOf(recv)
	x.Recv = x.packed(times(recv, len(x.Sources)), true, true)
	x.Send = x.packed(send, true, false)
	return described(x, nil)
}

// NeighbourAllgathervData is NeighbourAllgatherData with blocks of different
// sizes (MPI_Neighbor_allgatherv).
func (c *Comm) NeighbourAllgathervData(send datatype.View, recv Vector) DataCall {
	x, err := c.near("NeighbourAllgatherv", coll.NeighborAllgatherv, send)
	if err != nil {
		return described(x, err)
	}
	x.RecvBlocks.Each, err = x.blocks(recv, len(x.Sources), "recv", false, true, x.absent)
	x.Send = x.packed(send, true, false)
	return described(x, err)
}

// NeighbourAlltoallData sends a block to each neighbour and receives one from
// each (MPI_Neighbor_alltoall). send and recv are the block of one neighbour;
// those of all follow each other in memory.
func (c *Comm) NeighbourAlltoallData(send, recv datatype.View) DataCall {
	x, err := c.near("NeighbourAlltoall", coll.NeighborAlltoall, send, recv)
	if err != nil {
		return described(x, err)
	}
	x.SendBlocks, x.RecvBlocks = blocksOf(send), blocksOf(recv)
	x.Recv = x.packed(times(recv, len(x.Sources)), true, true)
	x.Send = x.packed(times(send, len(x.Dests)), true, false)
	return described(x, nil)
}

// NeighbourAlltoallvData is NeighbourAlltoallData with blocks of different sizes
// (MPI_Neighbor_alltoallv, and MPI_Neighbor_alltoallw if the vectors have Types).
func (c *Comm) NeighbourAlltoallvData(send, recv Vector) DataCall {
	x, err := c.near("NeighbourAlltoallv", coll.NeighborAlltoallv)
	if err != nil {
		return described(x, err)
	}
	if recv.Types != nil {
		x.Op, x.name = coll.NeighborAlltoallw, "NeighbourAlltoallw"
	}
	if x.RecvBlocks.Each, err = x.blocks(recv, len(x.Sources), "recv", false, true, x.absent); err == nil {
		x.SendBlocks.Each, err = x.blocks(send, len(x.Dests), "send", true, false, nil)
	}
	return described(x, err)
}
