//go:build race

package bench

// longInWindow is a size that one end of a transfer copies alone. A window receives into one
// buffer, as OSU's does, although MPI wants those of pending receives apart: between
// ranks of one process, both ends of different messages would write there at a time.
const longInWindow = 20_000
