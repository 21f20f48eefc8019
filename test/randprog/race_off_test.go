//go:build !race

package randprog

// underRace says that the race detector is on, which makes programs an order
// of magnitude slower.
const underRace = false
