package sys

import "golang.org/x/sys/unix"

// Text reads what the kernel tells in a file of /proc or /sys, at most 4 KiB of it.
// Package os would start Go's poller for that, with a thread and three descriptors
// that a preloaded program does not expect.
func Text(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	b := make([]byte, 4096)
	n, err := unix.Read(fd, b)
	return string(b[:max(n, 0)]), err
}
