// Package randprog compares random MPI programs with a sequential model of MPI
// matching.
//
// Generate makes a Program from a seed: ranks, their goroutines, and phases of
// point-to-point operations. Play executes programs as one rank of a World,
// which is any implementation of MPI; every rank plays the same list. After
// each phase every goroutine compares what it received with the model (Check).
// Drive does all this with the ranks of one process, and Watch says what is
// pending when a program stops.
//
//	Generate -> Program -> Play on each rank -> Inbox of each goroutine -> Check
//	                 \-> Shrink on failure -> Listing
//
// # Phases
//
// A phase has up to two parts that end with a barrier, and a drain. The parts
// are what the seed says; the first one posts receives only, which is what
// makes ready sends in the second one legal. A sum over all ranks then
// announces that every send is posted, and which sends were cancelled. From
// there each goroutine knows how many messages it is still owed: it tests its
// receives, receives what Iprobe finds, and, once it is owed nothing, cancels
// the receives that remain. A barrier ends the phase; only then is the memory
// checked, so that a write which comes after its receive completed is seen.
//
// Goroutines of one rank share nothing but the rank. A tag names the goroutine
// that sends and the goroutine that receives, so that the order in which
// messages are sent and receives are posted is the order of one goroutine's
// program. AnyTag is used only where a rank has one goroutine.
//
// # Programs for optimistic
//
// The protocol optimistic (thesis 3.14) takes no receive from any source and no
// probe, and assumes that short messages meet short buffers and long ones long.
// Rules keep programs to that. They may still use AnyTag and cancel: then all of
// a channel are of one length, else the nth message and the nth receive agree. The
// drain posts receives instead of probing (collector). With Rules.Counted
// nothing is cancelled and no tag left open, so that the protocol's own count
// of messages and receives is held against every match.
//
// # Every program ends
//
// Operations have a total order, their position in Program.Ops, and a blocking
// operation is admitted only if earlier operations suffice to end it, whatever
// matches what (see ledger). By induction over the order, all end.
//
// # The greedy rule
//
// Call the messages from one goroutine to another a stream; their order is the
// order of the sends. The model takes the receives of a goroutine in posting
// order. It believes the source and, for AnyTag, which goroutine of that source
// a message came from; with that the receive must have got the first message of
// that stream which its pattern matches and which no receive before it got.
//
// This is exactly the rule of MPI (non-overtaking, thesis 3.2.6), not merely a
// part of it. MPI says two things about the moments at which matches happen:
//
//  1. If messages m, m' are sent in this order in a stream, receive r matches
//     both and got m', then m was matched before m'.
//  2. If receives r, r' are posted in this order, both match message m and r'
//     got m, then r was matched before r'.
//
// An outcome is legal if and only if the matches can be ordered so that both
// hold, that is, if the relation "before" has no cycle.
//
// If the greedy rule fails, some r got m' although it matches an earlier m of
// the same stream that no receive before r got. Either nobody got m, which is a
// lost message, or a later r” did; then (1) says that r” was before r, (2)
// that r was before r”, and the outcome is illegal.
//
// If the greedy rule holds, every instance of (1) says that an earlier receive
// was matched before a later one: the receive r that got m' found m taken, so m
// went to a receive posted before r. Every instance of (2) says the same by its
// own wording. The posting order itself is therefore an order of the matches
// in which both hold, and the outcome is legal: it is what would have happened
// had each receive chosen freely among the sources and then taken the first
// message.
//
// A probe is a receive that takes nothing: the message which it reports must be
// the one that a receive posted in its place would get.
//
// A cancelled receive r matched nothing, so (2) demands that no later r' that
// matches the same message was matched while r was pending. The model knows
// that it was if r' was seen complete before Cancel was called on r. Most
// receives are cancelled at the end of the drain, after everything else is
// complete, so this case is the common one. This is the one rule that is
// checked in part only: a later receive whose completion was not seen before
// the cancel is given the benefit of the doubt.
//
// # When a program fails
//
// The tests print the seed, what is wrong, and a listing with what every
// operation observed; for a hang, where each goroutine is. To play one program
// again, up to 500 times, and to make it smaller if it fails:
//
//	go test ./test/randprog -run 'Random$' -v -play=ticket -seed=N -programs=500 -hang=2s -shrink
//
// -play is the name of the subtest: a protocol, with the programs for it.
// -shrink prints a -keep that selects what is left of the program. A failure
// that needs what earlier programs left behind takes the whole job of eight
// seeds: -first=N -programs=8 with N a multiple of 8, and -test.count.
package randprog
