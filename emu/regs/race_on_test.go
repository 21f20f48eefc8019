//go:build race

package regs

// underRace says that the race detector is on.
const underRace = true
