package mem

// Ticks is a clock of the processor's, which begins anywhere and goes at any speed. It is read when all before has been
// done, but for stores that wait to be seen.
func Ticks() uint64

// Fence waits until all that has been stored is seen.
func Fence()
