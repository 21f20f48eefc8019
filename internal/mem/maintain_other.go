//go:build !arm64

package mem

import (
	"errors"
	"fmt"
	"runtime"
)

// CanMaintain returns nil if CleanCache and PurgeCache do what they say.
func CanMaintain() error {
	return fmt.Errorf("programs cannot clean caches on %s: %w", runtime.GOARCH, errors.ErrUnsupported)
}

// CleanCache is for processors whose devices need not be coherent with the caches.
func CleanCache([]byte) {}

// PurgeCache is for processors whose devices need not be coherent with the caches.
func PurgeCache([]byte) {}
