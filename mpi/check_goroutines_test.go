package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The goroutine that looks for deadlocks is no part of the program, in whatever function it is; one of the program is.
func TestStateOfGoroutines(t *testing.T) {
	const inRegexp = "goroutine 7 [runnable]:\nregexp.(*Regexp).MatchString(...)\n\t/go/src/regexp/regexp.go:507\n"
	require.Equal(t, goroutineIdle, stateOf(inRegexp+
		modulePackages+"stateOf({0xc0, 0x1})\n\t/m/mpi/check_goroutines.go:74\n"+
		modulePackages+"(*waits).watch(0xc0, 0xc1)\n\t/m/mpi/check_deadlock.go:150 +0x1\n"+
		"created by "+modulePackages+"(*checker).openWaits in goroutine 1\n\t/m/mpi/check_deadlock.go:87 +0x2"))
	require.Equal(t, goroutineFree, stateOf(inRegexp+"main.main()\n\t/p/main.go:9 +0x1"))
}
