package launch

import (
	"os"
	"os/signal"
	"syscall"
)

// forwarded go to the ranks.
var forwarded = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR2,
	syscall.SIGWINCH, syscall.SIGALRM, syscall.SIGXCPU, syscall.SIGTSTP, syscall.SIGCONT,
}

// events are the signals that the launcher gets while a job runs.
type events struct {
	user   chan os.Signal
	report chan os.Signal
	child  chan os.Signal
	pipe   chan os.Signal
}

// listen begins to catch signals. It must come before the first rank: a
// launcher that inherited an ignored SIGCHLD would never hear of its children.
func (e *events) listen() {
	e.user = make(chan os.Signal, 16)
	e.report = make(chan os.Signal, 1)
	e.child = make(chan os.Signal, 1)
	e.pipe = make(chan os.Signal, 1)
	signal.Notify(e.child, syscall.SIGCHLD)
	// Caught and dropped, so that writes to a closed output fail instead of
	// ending the launcher before its ranks.
	signal.Notify(e.pipe, syscall.SIGPIPE)
	signal.Notify(e.report, syscall.SIGUSR1, syscall.SIGQUIT)
	for _, s := range forwarded {
		// What nohup or a shell's & has made us ignore stays ignored.
		if !signal.Ignored(s) {
			signal.Notify(e.user, s)
		}
	}
}

// letGo gives the user's signals their usual meaning back.
func (e *events) letGo() {
	signal.Stop(e.user)
	signal.Stop(e.report)
}

func (e *events) stop() {
	signal.Stop(e.child)
	signal.Stop(e.pipe)
}
