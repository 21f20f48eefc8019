package launch

import "time"

// BePatient makes jobs wait long for ranks to end by themselves after a
// failure or a signal, until restore.
func BePatient(d time.Duration) (restore func()) {
	term, kill, signal := termAfterFailure, killAfterFailure, killAfterSignal
	termAfterFailure, killAfterFailure, killAfterSignal = d, d, d
	return func() { termAfterFailure, killAfterFailure, killAfterSignal = term, kill, signal }
}

// KillLate makes jobs wait long between SIGTERM and SIGKILL after a failure,
// until restore: on a busy machine the trap of a shell takes its time.
func KillLate(d time.Duration) (restore func()) {
	kill := killAfterFailure
	killAfterFailure = d
	return func() { killAfterFailure = kill }
}

// GiveUpSoon makes a job on hosts wait so long for those that do not answer.
func GiveUpSoon(d time.Duration) { partEnds = d }

// InputError is what a job of two says if its ranks cannot be given an input.
func InputError(err error) error {
	return (&Job{cfg: Config{Ranks: 2, Prog: "./program"}}).inputError(err)
}
