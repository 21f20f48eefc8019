package floor

import "time"

// budget bounds a measurement on a machine that is busy with other things,
// where a step can take a time slice instead of a microsecond.
const budget = 300 * time.Millisecond

// stop in place of a counter ends the child's part of a measurement.
const stop = 1<<31 - 1

// timed returns the mean time of a step in nanoseconds. It runs them in blocks
// of 32, the first of which is not counted, until there are most of them or
// the budget is used up.
func timed(most int, steps func(n int) error) (float64, error) {
	const block = 32
	if err := steps(block); err != nil {
		return 0, err
	}
	start := time.Now()
	for n := block; ; n += block {
		if err := steps(block); err != nil {
			return 0, err
		}
		if used := time.Since(start); n >= most || used > budget {
			return float64(used.Nanoseconds()) / float64(n), nil
		}
	}
}
