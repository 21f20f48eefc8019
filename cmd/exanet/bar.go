package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// newBar returns a progress bar of total steps on the standard error, nil if that or
// the standard output is no terminal.
func newBar(c *cobra.Command, total int, doing string, more ...progressbar.Option) *progressbar.ProgressBar {
	if !isTerminal(c.OutOrStdout()) || !isTerminal(c.ErrOrStderr()) {
		return nil
	}
	return progressbar.NewOptions(total, append([]progressbar.Option{
		progressbar.OptionSetWriter(c.ErrOrStderr()),
		progressbar.OptionSetDescription(doing),
		progressbar.OptionSetWidth(40),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
	}, more...)...)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
