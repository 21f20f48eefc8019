package launch

import "time"

// BePatient makes jobs wait long for ranks to end by themselves after a
// failure, until restore.
func BePatient(d time.Duration) (restore func()) {
	term, kill := termAfterFailure, killAfterFailure
	termAfterFailure, killAfterFailure = d, d
	return func() { termAfterFailure, killAfterFailure = term, kill }
}
