//go:build !linux

package mmio

import "errors"

func readPhysical(path string, _ int64) (uint64, error) {
	return 0, openError("read physical", path, errors.ErrUnsupported)
}
