//go:build !race

package bench

// longInWindow is a size that both ends of a transfer copy.
const longInWindow = 100_000
