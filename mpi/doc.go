// Package mpi is MPI for Go programs, over the write-based protocols of the
// Exanet prototype.
//
// A program started by "exanet run" calls Init and gets the world communicator;
// one started by itself gets a world of one rank. Run starts ranks as goroutines
// of the calling process instead, for tests. Package virtual runs them in virtual time, on
// a simulated prototype.
//
// How the pieces meet: a Comm belongs to a rank (rank.go), which owns a
// protocol (package variants/ticket) and a fabric (package emu/host, or the
// prototype's devices). A call posts a request to the protocol under the rank's
// lock. Whoever waits polls the fabric and hands the protocol what arrives; if
// several goroutines wait, one polls for all. While nobody waits, a background
// goroutine makes progress when a message arrives and something is pending.
//
// What is where: request.go has requests; wait.go, waitmany.go and waitany.go
// end them; p2p.go, buffered.go, persistent.go, probe.go and matched.go are point
// to point; schedule.go is what collectives are made of; comm.go begins the
// communicators; errors.go and class.go are errors, env.go is the rest.
//
// Buffers are slices of any fixed-size type without pointers. A buffer given to
// a non-blocking call must be left alone until the request has completed. Any
// goroutine may make calls (MPI_THREAD_MULTIPLE).
package mpi
