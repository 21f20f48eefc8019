package mem

import (
	"errors"
	"fmt"
)

//go:noescape
func cleanLines(p *byte, n int)

//go:noescape
func purgeLines(p *byte, n int)

// cacheType is the register CTR_EL0.
func cacheType() uint64

// CanMaintain returns nil if CleanCache and PurgeCache do what they say.
func CanMaintain() error {
	const words = 4 // bytes of the unit in which the register counts
	if line := words << (cacheType() >> 16 & 0xf); line != CacheLine {
		return fmt.Errorf("lines of this processor's caches have %d bytes: %w", line, errors.ErrUnsupported)
	}
	return nil
}

// CleanCache writes the changed lines of b back to memory, where a device that is
// not coherent with the caches reads them (DC CVAC).
func CleanCache(b []byte) {
	if len(b) > 0 {
		cleanLines(&b[0], len(b))
	}
}

// PurgeCache does the same, and drops the lines, so that what such a device writes
// is seen by the next load (DC CIVAC). What it has written is lost where a line
// of b has been changed since the last of these calls.
func PurgeCache(b []byte) {
	if len(b) > 0 {
		purgeLines(&b[0], len(b))
	}
}
