package randprog

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Start runs n ranks of an MPI implementation as goroutines of this process
// and returns when they have returned.
type Start func(n int, rank func(World) error) error

// ErrHang is what Drive returns, wrapped with a listing, for a program that
// does not end. Its goroutines remain.
var ErrHang = errors.New("program hangs")

// Drive plays programs, all for the same number of ranks, one after another in
// one world, and returns what happened. A failure is a *Failure with the
// observations of all ranks. A program that takes longer than limit hangs.
func Drive(start Start, programs []*Program, limit time.Duration) (Tally, error) {
	hung := make(chan string, 1)
	watch := NewWatch(limit, len(programs), func(report string) { hung <- report })
	defer watch.Stop()

	var mu sync.Mutex
	var total Tally
	var first *Failure
	done := make(chan error, 1)
	go func() {
		done <- start(programs[0].Ranks, func(w World) error {
			tally, err := Play(w, programs, watch)
			mu.Lock()
			defer mu.Unlock()
			total.Add(tally)
			if f, ok := err.(*Failure); ok && (first == nil || f.Program.Seed < first.Program.Seed) {
				first = f
			}
			return err
		})
	}()
	select {
	case report := <-hung:
		return Tally{}, fmt.Errorf("%w: %s", ErrHang, report)
	case err := <-done:
		mu.Lock()
		defer mu.Unlock()
		if first != nil {
			watch.complete(first)
			return total, first
		}
		return total, err
	}
}

// Seeds returns the programs of n seeds from first on, all for the number of
// ranks of the first, to be played in one world.
func Seeds(first uint64, n int, rules Rules) (programs []*Program) {
	for i := range uint64(n) {
		programs = append(programs, Generate(first+i, RanksOf(first), rules))
	}
	return programs
}
