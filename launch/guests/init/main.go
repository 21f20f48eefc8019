//go:build linux

// Init is the first process of a guest (package guests). It makes a machine of what the
// kernel has booted, tells the host, and runs the programs that the host names; it also is
// the agent of the guest's node, which frees the registers of processes that have ended.
//
//	machine.go   file systems, kernel settings, modules, the PCI device
//	network.go   addresses
//	agent.go     the conversation with the host
//	owners.go    registers of processes that have ended
//	run.go       the command "run" of people who look around: a job on all nodes
//
// Whatever goes wrong ends the guest, after a line on the console that says what.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/launch/guests/wire"
)

func main() {
	if filepath.Base(os.Args[0]) == "run" {
		os.Exit(runCommand(os.Args[1:]))
	}
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "this is the first process of a guest: exanet guests boots such")
		os.Exit(2)
	}
	err := serve()
	if err != nil {
		fmt.Println("exanet guest:", err)
		time.Sleep(100 * time.Millisecond) // the console shows it
	}
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

// serve returns when the guest is to end.
func serve() error {
	if err := mount(); err != nil {
		return err
	}
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return err
	}
	said := func(key string) string {
		for _, word := range strings.Fields(string(line)) {
			if v, ok := strings.CutPrefix(word, key+"="); ok {
				return v
			}
		}
		return ""
	}
	settings()
	device, err := enable()
	if err != nil {
		return err
	}
	if err := modules(); err != nil {
		return err
	}
	for _, kv := range [][2]string{
		{"PATH", "/bin:/bbin"}, {"HOME", "/root"}, {"TMPDIR", "/tmp"}, {"TERM", "linux"},
		{"EXANET_DEVICE", "registers:" + device},
	} {
		if err := os.Setenv(kv[0], kv[1]); err != nil {
			return err
		}
	}
	number, err := strconv.Atoi(said(wire.Node))
	if err != nil {
		return fmt.Errorf("the host gives this node no number: %w", err)
	}
	if err := network(number); err != nil {
		return err
	}
	// Open before the hello, after which the host passes on what is typed: it waits here for the shell.
	console, err := os.OpenFile("/dev/ttyAMA0", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	a, err := dial(said(wire.Host), wire.Hello{Token: said(wire.Token), Node: number, Device: device})
	if err != nil {
		return err
	}
	if shell := said(wire.Shell); shell != "" {
		go func() {
			onConsole(console, shell)
			_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
		}()
	}
	return a.serve()
}

// onConsole runs a program on the console, which signals reach from there.
func onConsole(tty *os.File, program string) {
	c := exec.Command(program)
	c.Stdin, c.Stdout, c.Stderr = tty, tty, tty
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Run(); err != nil {
		fmt.Println("exanet guest:", err)
	}
}
