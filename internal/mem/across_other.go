//go:build !amd64 || race

package mem

// Across is copy for data that go to another core, or come from it, between memory that both use and the
// program's: they do not overlap. On amd64 it is another instruction, which the race detector
// would not see.
func Across(dst, src []byte) int { return copy(dst, src) }
