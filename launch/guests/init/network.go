//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Networks of a guest. eth0 leads to the host, which QEMU gives the address wire.Gateway;
// eth1 leads to the other guest, if there are two.
const (
	hostSide = "10.0.2.15"
	between  = "192.168.7." // then the node's number + 1
)

// network gives the interfaces their addresses, and the guest a name.
func network(number int) error {
	if err := unix.Sethostname(fmt.Appendf(nil, "node%d", number)); err != nil {
		return err
	}
	if err := os.MkdirAll("/etc", 0o755); err != nil {
		return err
	}
	hosts := "127.0.0.1 localhost\n"
	for i := range 2 {
		hosts += fmt.Sprintf("%s%d node%d\n", between, i+1, i)
	}
	for file, text := range map[string]string{
		"/etc/hosts": hosts, "/etc/passwd": "root:x:0:0::/root:/bin/sh\n", "/etc/group": "root:x:0:\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := up("lo", ""); err != nil {
		return err
	}
	if err := up("eth0", hostSide); err != nil {
		return err
	}
	err := up("eth1", between+strconv.Itoa(number+1))
	if errors.Is(err, unix.ENODEV) {
		return nil // it is alone
	}
	return err
}

// up brings an interface up with an address of a network of 24 bits.
func up(name, address string) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	req, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	call := func(op uint) {
		if err == nil {
			err = unix.IoctlIfreq(s, op, req)
		}
	}
	if address != "" {
		if err = req.SetInet4Addr(net.ParseIP(address).To4()); err != nil {
			return err
		}
		call(unix.SIOCSIFADDR)
		if err == nil {
			err = req.SetInet4Addr(net.CIDRMask(24, 32))
		}
		call(unix.SIOCSIFNETMASK)
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	call(unix.SIOCSIFFLAGS)
	if err != nil {
		return fmt.Errorf("network %s: %w", name, err)
	}
	return nil
}
