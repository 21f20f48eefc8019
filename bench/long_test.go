//go:build !race

package bench

// long is a size that both ends of a transfer copy.
const long = 100_000
