//go:build !amd64 || race

package mem

// Pause lets a moment pass between two looks for what another core is about to write, and returns how many
// looks it counts for. Here it does nothing.
func Pause() (looks int) { return 1 }
