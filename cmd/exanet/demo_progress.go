package main

import (
	"math"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
)

// progress is the demo's progress bar; a nil one shows nothing.
type progress struct{ bar *progressbar.ProgressBar }

func newProgress(cmd *cobra.Command) *progress {
	bar := newBar(cmd, 100, "solving in parallel", progressbar.OptionSetPredictTime(false))
	if bar == nil {
		return nil
	}
	return &progress{bar}
}

// show moves the bar by the digits that the residual has gained. What it
// prints is decoration: errors do not matter.
func (p *progress) show(residual float64) {
	if p != nil && residual > 0 {
		share := math.Log(residual) / math.Log(demoTolerance)
		_ = p.bar.Set(int(99 * min(max(share, 0), 1)))
	}
}

// check says that the serial solve has begun.
func (p *progress) check() {
	if p != nil {
		p.bar.Describe("checking against a serial solve")
	}
}

// end removes the bar.
func (p *progress) end() {
	if p != nil {
		_ = p.bar.Clear()
	}
}
