package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/endpoint/selftest"
	"github.com/exanet-mpi/exanet/packetizer"
)

func init() { commands = append(commands, newDevice) }

func newDevice() *cobra.Command {
	c := &cobra.Command{
		Use:   "device",
		Short: "Find and check devices with the prototype's registers",
		Long: `Device is for whoever brings up a board: it finds what could be the registers of the
prototype's blocks, and checks whether they do what docs/registers.md says.
docs/bring-up.md explains what a bitstream and a driver have to provide.`,
		Example: `  exanet device list
  exanet device check /dev/exanet0`,
		Args: noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newDeviceList(), newDeviceCheck())
	return c
}

func newDeviceList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List what could be a device",
		Long: `List shows where registers of the prototype's blocks could be on this machine:
device nodes of its driver, UIO nodes, memory of PCI devices, and the software
devices of jobs that run. It reads of each what it may and says what it is, and
changes nothing.`,
		Example: "  exanet device list",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return listDevices(c.OutOrStdout())
		},
	}
}

func newDeviceCheck() *cobra.Command {
	var model bool
	c := &cobra.Command{
		Use:   "check [PATH]",
		Short: "Check that a device does what its registers promise",
		Long: `Check tries out every block of a device and prints a line for each thing that
it tries: the headers, messages to itself, their order, a full mailbox, writes
with notifications, and everything that has to be refused. A line that begins
with FAIL says in plain words what the device does wrong; docs/bring-up.md has
the check under the same name, and says what to look at. A line that begins with
- says what could not be tried, and why.

It takes up to three free interfaces of each block and gives them back. The
device should be idle. A wait for the device has a limit of five seconds in which
this process runs, and all waits together one of half a minute: so it ends whatever
the device does, later on a busy machine.

PATH is that of a device node, a UIO node, a PCI resource file or a register
file, or /dev/mem@0xADDRESS (docs/devices.md), with or without registers: before
it. Without it the only hardware that exanet device list finds is checked. With
--model this command runs a device in software and checks that, to show what it
looks like.`,
		Example: `  exanet device check /dev/exanet0
  exanet device check --model`,
		Args: func(_ *cobra.Command, args []string) error {
			path := strings.Join(args, "")
			first, _, list := strings.Cut(path, ",")
			switch {
			case len(args) == 1 && path == "":
				return usageErrorf("device check: the path is empty; name one, as /dev/exanet0")
			case len(args) == 1 && list:
				return usageErrorf("device check takes one path, and %s is a list: check one after the other, as "+
					"exanet device check %s", path, first)
			case len(args) > 1:
				return usageErrorf("device check takes one path; here is %q too", args[1])
			case model && len(args) > 0:
				return usageErrorf("device check takes a path or --model, not both")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			path := strings.TrimPrefix(strings.Join(args, ""), "registers:") // as EXANET_DEVICE has it
			switch {
			case model:
				d, err := regs.New(regs.Config{Nodes: []regs.Node{{ID: 1, PDIDs: []uint32{1, 1, 2}}}})
				if err != nil {
					return err
				}
				defer func() { _ = d.Close() }()
				path = d.Path(0)
			case path == "":
				var err error
				if path, err = onlyDevice(); err != nil {
					return err
				}
			}
			return checkDevice(c.OutOrStdout(), path)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
	}
	c.Flags().BoolVar(&model, "model", false, "check a device in software, which this command runs")
	return c
}

// checkDevice prints the lines of a check as they are known.
func checkDevice(w io.Writer, path string) error {
	width := 0
	for _, name := range selftest.Names() {
		width = max(width, len(name))
	}
	fmt.Fprintln(w, "device", path)
	var lost error // a line that could not be written
	err := selftest.Run(path, selftest.Limit, func(l selftest.Line) {
		if _, err := fmt.Fprintf(w, "%-4v  %-*s  %s\n", l.Result, width, l.Check, l.Text); lost == nil {
			lost = err
		}
	})
	if err == nil {
		return lost
	}
	var failed *selftest.FailedError
	if errors.As(err, &failed) || errors.Is(err, packetizer.ErrExhausted) {
		return err
	}
	return usageError{err} // there is no device at that path
}
