package env

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// File opens the file whose descriptor a variable has, which a launcher has passed on, for this process only.
func File(name string) (*os.File, error) {
	fd, err := strconv.Atoi(os.Getenv(name))
	if err != nil || fd < 3 {
		return nil, fmt.Errorf("%s=%q is not a file descriptor", name, os.Getenv(name))
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
		return nil, fmt.Errorf("%s=%d is not open in this process", name, fd)
	}
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil { // so that the runtime polls it
		return nil, fmt.Errorf("%s=%d: %w", name, fd, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}
