package mpi

import (
	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/internal/mem"
)

func bcast[T Element](c *Comm, name string, buf []T, root int) (*collective, error) {
	x, err := invokeOn(c, name, coll.Bcast, buf)
	if err == nil {
		err = x.rooted(root)
		x.Recv = mem.Bytes(buf)
	}
	return x, err
}

// Bcast copies buf of rank root to that of every rank (MPI_Bcast). All buffers
// have the same length.
func Bcast[T Element](c *Comm, buf []T, root int) error {
	return block(bcast(c, "Bcast", buf, root))
}

// Ibcast begins a Bcast (MPI_Ibcast).
func Ibcast[T Element](c *Comm, buf []T, root int) (*Request, error) {
	return begin(bcast(c, "Ibcast", buf, root))
}

// BcastInit makes a persistent Bcast (MPI_Bcast_init).
func BcastInit[T Element](c *Comm, buf []T, root int) (*Request, error) {
	return persist(bcast(c, "BcastInit", buf, root))
}

func gather[T Element](c *Comm, name string, send, recv []T, root int) (*collective, error) {
	x, err := invokeOn(c, name, coll.Gather, send)
	if err == nil {
		err = x.rooted(root)
	}
	if err != nil {
		return x, err
	}
	x.Send = mem.Bytes(send)
	if x.Rank == root {
		x.Recv = mem.Bytes(recv)
		if x.RecvBlocks, err = x.shared(len(recv), "recv at the root"); err != nil {
			return x, err
		}
		if x.InPlace = send == nil; !x.InPlace && len(send) != x.RecvBlocks.N {
			return x, x.miscounted(len(x.Recv), "recv at the root must be as long as the send buffers of all ranks")
		}
	}
	return x, nil
}

// Gather collects the send buffers of all ranks, which have the same length, in
// recv of rank root, in the order of the ranks (MPI_Gather). recv is significant
// at the root only. With a nil send there, the root's block is in its place
// already.
func Gather[T Element](c *Comm, send, recv []T, root int) error {
	return block(gather(c, "Gather", send, recv, root))
}

// Igather begins a Gather (MPI_Igather).
func Igather[T Element](c *Comm, send, recv []T, root int) (*Request, error) {
	return begin(gather(c, "Igather", send, recv, root))
}

// GatherInit makes a persistent Gather (MPI_Gather_init).
func GatherInit[T Element](c *Comm, send, recv []T, root int) (*Request, error) {
	return persist(gather(c, "GatherInit", send, recv, root))
}

func scatter[T Element](c *Comm, name string, send, recv []T, root int) (*collective, error) {
	x, err := invokeOn(c, name, coll.Scatter, recv)
	if err == nil {
		err = x.rooted(root)
	}
	if err != nil {
		return x, err
	}
	x.Recv = mem.Bytes(recv)
	if x.Rank == root {
		x.Send = mem.Bytes(send)
		if x.SendBlocks, err = x.shared(len(send), "send at the root"); err != nil {
			return x, err
		}
		if x.InPlace = recv == nil; !x.InPlace && len(recv) != x.SendBlocks.N {
			return x, x.miscounted(len(x.Send), "send at the root must be as long as the receive buffers of all ranks")
		}
	}
	return x, nil
}

// Scatter deals out send of rank root to recv of all ranks, which have the same
// length, in the order of the ranks (MPI_Scatter). send is significant at the
// root only. With a nil recv there, the root's block stays where it is.
func Scatter[T Element](c *Comm, send, recv []T, root int) error {
	return block(scatter(c, "Scatter", send, recv, root))
}

// Iscatter begins a Scatter (MPI_Iscatter).
func Iscatter[T Element](c *Comm, send, recv []T, root int) (*Request, error) {
	return begin(scatter(c, "Iscatter", send, recv, root))
}

// ScatterInit makes a persistent Scatter (MPI_Scatter_init).
func ScatterInit[T Element](c *Comm, send, recv []T, root int) (*Request, error) {
	return persist(scatter(c, "ScatterInit", send, recv, root))
}

func allgather[T Element](c *Comm, name string, send, recv []T) (*collective, error) {
	x, err := invokeOn(c, name, coll.Allgather, recv)
	if err == nil {
		x.RecvBlocks, err = x.shared(len(recv), "recv")
	}
	if err != nil {
		return x, err
	}
	x.Send, x.Recv, x.InPlace = mem.Bytes(send), mem.Bytes(recv), send == nil
	if !x.InPlace && len(send) != x.RecvBlocks.N {
		return x, x.miscounted(len(x.Recv), "recv must be as long as the send buffers of all ranks")
	}
	return x, nil
}

// Allgather collects the send buffers of all ranks, which have the same length,
// in recv of every rank, in the order of the ranks (MPI_Allgather). With a nil
// send, the caller's block is in its place already.
func Allgather[T Element](c *Comm, send, recv []T) error {
	return block(allgather(c, "Allgather", send, recv))
}

// Iallgather begins an Allgather (MPI_Iallgather).
func Iallgather[T Element](c *Comm, send, recv []T) (*Request, error) {
	return begin(allgather(c, "Iallgather", send, recv))
}

// AllgatherInit makes a persistent Allgather (MPI_Allgather_init).
func AllgatherInit[T Element](c *Comm, send, recv []T) (*Request, error) {
	return persist(allgather(c, "AllgatherInit", send, recv))
}

func alltoall[T Element](c *Comm, name string, send, recv []T) (*collective, error) {
	x, err := invokeOn(c, name, coll.Alltoall, recv)
	if err == nil {
		x.RecvBlocks, err = x.shared(len(recv), "recv")
	}
	if err != nil {
		return x, err
	}
	x.Send, x.Recv, x.InPlace, x.SendBlocks = mem.Bytes(send), mem.Bytes(recv), send == nil, x.RecvBlocks
	if !x.InPlace && len(send) != len(recv) {
		return x, x.miscounted(len(x.Recv), "recv must be as long as send")
	}
	return x, nil
}

// Alltoall sends a block of send to every rank, in the order of the ranks, and
// receives a block from every rank into recv (MPI_Alltoall). All blocks have the
// same length. With a nil send, the blocks are taken from recv.
func Alltoall[T Element](c *Comm, send, recv []T) error {
	return block(alltoall(c, "Alltoall", send, recv))
}

// Ialltoall begins an Alltoall (MPI_Ialltoall).
func Ialltoall[T Element](c *Comm, send, recv []T) (*Request, error) {
	return begin(alltoall(c, "Ialltoall", send, recv))
}

// AlltoallInit makes a persistent Alltoall (MPI_Alltoall_init).
func AlltoallInit[T Element](c *Comm, send, recv []T) (*Request, error) {
	return persist(alltoall(c, "AlltoallInit", send, recv))
}
