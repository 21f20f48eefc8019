// Package mpi is MPI for Go programs: processes that share no memory solve a problem
// together by sending each other messages. docs/tutorial.md teaches that to those who
// have not seen it before; docs/mpi.md has MPI's names and those of this package side by side.
//
// A program is one function that all processes run, each with a rank of its own:
//
//	func main() {
//		mpi.Main(func(world *mpi.Comm) error {
//			sum, err := mpi.AllreduceValue(world, world.Rank(), mpi.Sum)
//			fmt.Println("rank", world.Rank(), "of", world.Size(), "has", sum)
//			return err
//		})
//	}
//
// "exanet run -n 4 ./program" starts four of them. Started by itself it is a job of one
// rank. In tests, [Run] starts ranks as goroutines; package reproduce/virtual runs
// them in virtual time, on a simulated prototype.
//
// # What there is
//
//   - To begin and end: [Main], which calls [Init] and [Finalize]; or [Run].
//   - Messages between two ranks: [Send] and [Recv], which wait; [Isend] and [Irecv], which return
//     a [Request] at once; [Sendrecv] for both directions. [Comm.Probe] looks for a message.
//   - Collectives, which all ranks of a communicator call, in the same order: [Comm.Barrier], [Bcast],
//     [Scatter], [Gather], [Allgather], [Alltoall], and, with an [Op] as [Sum] or [Max],
//     [Reduce], [Allreduce] and [Scan].
//   - Single values, of any type, instead of slices: the calls that end in Value, as [SendValue],
//     [RecvValue], [BcastValue] and [AllreduceValue].
//   - More communicators, which are sets of ranks: [Comm.Split], [Comm.Dup], [Comm.Create]; grids of
//     ranks: [Comm.Cart] and [Comm.CartShift].
//   - Data with gaps, as the column of a matrix: the calls that end in Data, on what [With] makes
//     of a slice and a type of package datatype.
//
// The names say the form of a call. Those that begin with I (Irecv, Iallreduce) begin
// what the others do, and end in [Request.Wait] or [WaitAll]. Those that end in Init (SendInit,
// AllreduceInit) prepare a persistent Request, to be started many times. Those that end in v
// (Gatherv) take blocks of different sizes. Those that end in Context can be abandoned.
//
// # Rules
//
// Buffers are slices of any type of fixed size without pointers: numbers, and arrays and structs of
// them (see [Element]). A message that is longer than the buffer of its Recv is an error, a shorter
// one is not. Between the beginning of a non-blocking call and its end, the memory of its
// buffers belongs to it: the program does not write to what is sent, and does not look
// at what is received.
//
// Messages with the same sender, receiver, communicator and tag are received in the order in
// which they were sent.
//
// Any goroutine may make calls (MPI_THREAD_MULTIPLE), but those that make collectives on one
// communicator must agree on their order with those of the other ranks.
//
// Calls return their errors, which are of type [*Error] and wrap one of the Err variables. If a rank dies,
// the calls of others that depend on it fail with [ErrProcFailed].
//
// # How the pieces meet
//
// A Comm belongs to a rank (rank.go), which owns a protocol (package variants/ticket)
// and a fabric (package emu/host, or the prototype's devices). A call posts a request to
// the protocol under the rank's lock. Whoever waits polls the fabric and hands the protocol
// what arrives; if several goroutines wait, one polls for all. While nobody waits, a
// background goroutine makes progress when a message arrives and something is pending.
//
// What is where: request.go has requests; wait.go, waitmany.go and waitany.go end them;
// p2p.go, buffered.go, persistent.go, probe.go and matched.go are point to point;
// value.go and gob.go are single values; coll.go begins the collectives, and schedule.go is
// what they are made of; comm.go begins the communicators; errors.go and class.go are
// errors, env.go is the rest.
package mpi
