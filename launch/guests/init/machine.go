//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/endpoint"
)

// mount mounts what programs expect.
func mount() error {
	for _, m := range []struct{ at, kind string }{
		{"/proc", "proc"}, {"/sys", "sysfs"}, {"/dev", "devtmpfs"}, {"/tmp", "tmpfs"}, {"/dev/shm", "tmpfs"},
		{"/dev/pts", "devpts"},
	} {
		if err := os.MkdirAll(m.at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, m.at, m.kind, 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	return os.MkdirAll("/root", 0o700)
}

// settings keeps pages where they are: the device has their physical addresses, and nobody
// tells it when the kernel moves one. Kernels that cannot move them lack some of these files.
func settings() {
	for file, value := range map[string]string{
		"/sys/kernel/mm/transparent_hugepage/enabled": "never",
		"/sys/kernel/mm/transparent_hugepage/defrag":  "never",
		"/proc/sys/vm/compact_unevictable_allowed":    "0",
		"/proc/sys/kernel/printk":                     "3", // errors alone on the console
	} {
		if err := os.WriteFile(file, []byte(value), 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			fmt.Println("exanet guest:", err)
		}
	}
}

// enable finds the PCI device whose memory is the register file, and has it answer: until
// then nothing can be read there.
func enable() (path string, err error) {
	found := endpoint.List()
	if len(found) != 1 {
		return "", fmt.Errorf("want one PCI device with the registers, and there are %d", len(found))
	}
	path = found[0].Path
	return path, os.WriteFile(filepath.Join(filepath.Dir(path), "enable"), []byte("1"), 0)
}

// modules loads those of the kernel that the host has sent, each after those that it needs:
// without them it is refused with ENOENT.
func modules() error {
	list, err := filepath.Glob("/modules/*.ko")
	if err != nil {
		return err
	}
	for len(list) > 0 {
		var refused []string
		var why error
		for _, path := range list {
			switch err := load(path); {
			case errors.Is(err, unix.ENOENT):
				refused, why = append(refused, path), err
			case err != nil:
				return err
			}
		}
		if len(refused) == len(list) {
			return fmt.Errorf("modules lack others: %w", why)
		}
		list = refused
	}
	return nil
}

func load(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err = unix.FinitModule(int(f.Fd()), "", 0); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("load %s: %w", path, err)
	}
	return nil
}
