package main

import (
	"io"
	"math"
	"os"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// progress is the demo's progress bar; a nil one shows nothing.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress returns a bar on the standard error if that and the standard
// output are terminals.
func newProgress(cmd *cobra.Command) *progress {
	if !isTerminal(cmd.OutOrStdout()) || !isTerminal(cmd.ErrOrStderr()) {
		return nil
	}
	return &progress{progressbar.NewOptions(100,
		progressbar.OptionSetWriter(cmd.ErrOrStderr()),
		progressbar.OptionSetDescription("solving in parallel"),
		progressbar.OptionSetWidth(40),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionClearOnFinish(),
	)}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
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
