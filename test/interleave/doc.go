// Package interleave tries every interleaving of ranks that share memory, with
// stores that become visible late, on the code that runs.
//
// The code under test is not written for it. Command rewrite makes a copy of its
// files for the compiler's -overlay, in which each access to memory behind a
// pointer, each atomic operation, and each futex and membarrier call goes through
// the functions of hooks.go. Without the overlay nothing changes.
//
//	hooks.go    what rewritten code calls: one access is one operation
//	rank.go     a rank as a tree: its next operation for each history of values read
//	model.go    memory, store buffers, futexes; which steps a state has
//	search.go   all states breadth first, and whether each can still come to an end
//	report.go   a violation as the steps that lead to it
//	rewrite/    makes the overlay
//	native/     code in C, which the compiler instruments, and its tests
//
// A rank is deterministic but for the values that it reads. So its local state is
// its history, and to find the operation behind a new value the rank is run again
// from its beginning, alone, in memory of its own, with the values of its history.
// No two ranks ever run at the same time, and words that only one of them uses need
// no step: they are found by themselves, and the search begins again when a second
// rank turns out to use one.
//
// A history does not grow while a rank spins: when it has read the same values twice
// at the same places it is where it was. So a loop that counts its turns is taken for
// one that does not; a rank that reads a word more than twice for other reasons has to
// look elsewhere in between.
//
// A state from which no end can be reached is a violation: a deadlock, a lost
// wake-up, two ranks that wait for each other. Fairness is assumed: who can go on
// does so at some time.
//
// What TSO allows is x86: stores leave a rank's buffer in order, and a rank reads its
// own early. Weak is ARM64 and more: stores to different words leave the buffer in
// any order unless one is a release, and a load may have been performed at any time
// since the last acquire or fence. A load that is performed later than a store behind
// it is not modelled; nor are dependencies, so that what only they order is taken to
// be unordered.
package interleave
