//go:build !race

package mem

// Pause lets a moment pass between two looks for what another core is about to write, and returns how many
// looks it counts for. AMD's processors take sooner what comes then (Zen 5, 64 B to 4 KiB, by a third);
// others do not pause here.
func Pause() (looks int) {
	if amd {
		pause()
		return 6
	}
	return 1
}

func pause()
