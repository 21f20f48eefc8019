// Package unignored is for tests whose processes get signals. nohup, or a script's &, may have started the test with
// some signals ignored, which all that it starts would inherit.
package unignored

import (
	"os"
	"os/signal"
	"syscall"
)

// Signals gives these signals their usual meaning in the processes that the caller starts from now on: what a process
// catches is not inherited. The caller itself still does nothing when one comes.
func Signals() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}
