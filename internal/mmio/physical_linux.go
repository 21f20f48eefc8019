package mmio

import (
	"fmt"

	"github.com/u-root/u-root/pkg/memio"
)

func readPhysical(path string, addr int64) (uint64, error) {
	m, err := memio.NewMMap(path)
	if err != nil {
		return 0, openError("read physical", path, err)
	}
	defer m.Close()
	if st, err := m.Stat(); err == nil && st.Mode().IsRegular() && addr+8 > st.Size() {
		return 0, &Error{Op: "read physical", Path: path, Page: -1, Err: ErrNoDevice,
			Cause: fmt.Errorf("address %#x, but the file ends at %#x", addr, st.Size()), Do: "check the address"}
	}
	var v memio.Uint64
	if err := m.ReadAt(addr, &v); err != nil {
		return 0, openError("read physical", path, err)
	}
	return uint64(v), nil
}
