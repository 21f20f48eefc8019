package floor

import "time"

// budget bounds a measurement on a machine that is busy with other things,
// where a step can take a time slice instead of a microsecond.
const budget = 300 * time.Millisecond

// stop in place of a counter ends the child's part of a measurement.
const stop = 1<<31 - 1

// timed returns the time of a step in nanoseconds. It runs them in blocks of
// 32, the first of which is not counted, until there are most of them or the
// budget is used up, and takes the median of the blocks: what the machine can
// do, without the moments in which it did something else.
func timed(most int, steps func(n int) error) (float64, error) {
	return timedBlocks(32, most, steps)
}

// timedBlocks is timed with blocks of so many steps: the shorter they are, the less the
// median feels of disturbances.
func timedBlocks(block, most int, steps func(n int) error) (float64, error) {
	if err := steps(block); err != nil {
		return 0, err
	}
	blocks := make([]float64, 0, (most+block-1)/block)
	begin := time.Now()
	for last := begin; ; {
		if err := steps(block); err != nil {
			return 0, err
		}
		now := time.Now()
		blocks = append(blocks, float64(now.Sub(last).Nanoseconds())/float64(block))
		if len(blocks) == cap(blocks) || now.Sub(begin) > budget {
			return median(blocks), nil
		}
		last = now
	}
}
