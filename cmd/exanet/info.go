package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/endpoint"
	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/mpi"
)

func init() { commands = append(commands, newInfo) }

func newInfo() *cobra.Command {
	var collectives, protocols bool
	c := &cobra.Command{
		Use:   "info",
		Short: "Show what this host offers to a job",
		Long: `Info shows what this host offers to a job, and what is missing and why.
Everything is tried out, not guessed. Jobs run wherever shared memory and
futexes work; without cross-memory attach long messages are copied twice,
without membarrier short ones cost a fence each.

With --collectives it shows instead which algorithm serves which calls of a
collective, by the bytes of the vector or of a rank's block, and the number of
ranks. EXANET_COLL=collective:algorithm,... forces others. EXANET_COLL=@FILE has
the rows of a file come first: one that exanet tune has written, or what --collectives
has printed, edited.

With --protocols it shows how the messages of each protocol go, by which rule the
protocol auto chooses, and the sizes at which protocols change their form, as
EXANET_BANDS and EXANET_DEVICE say. What auto has chosen in a job is in its
EXANET_STATS.`,
		Example: `  exanet info
  EXANET_COLL=allreduce:ring exanet info --collectives
  EXANET_COLL=@tuned.txt exanet info --collectives
  exanet info --protocols`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case protocols && collectives:
				return usageErrorf("give one of --collectives and --protocols")
			case protocols:
				return printProtocols(c.OutOrStdout(), os.Environ())
			case collectives:
				return printCollectives(c.OutOrStdout(), os.Getenv("EXANET_COLL"))
			}
			return printInfo(c.OutOrStdout(), os.DirFS("/"))
		},
	}
	c.Flags().BoolVar(&collectives, "collectives", false, "show the algorithms of the collectives")
	c.Flags().BoolVar(&protocols, "protocols", false, "show how the messages of the protocols go")
	return c
}

// printInfo writes a table; root is the root of the file system.
func printInfo(w io.Writer, root fs.FS) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(what, is string) { fmt.Fprintf(t, "%s\t%s\n", what, is) }
	row("kernel", kernel())
	row("cores", cores(root))
	row("memory", memory(root))
	row("page size", fmt.Sprintf("%d B", os.Getpagesize()))
	row("memfd", yesOr(tryMemfd()))
	row("futex", yesOr(sys.TryFutex()))
	row("membarrier", yesOr(tryMembarrier()))
	row("cross-memory attach", yesOr(tryAttach(root)))
	row("backends", "host: shared memory of this host (default)")
	row("", "prototype: host, with the prototype's 64-byte messages")
	row("", "registers: the prototype's registers, in software (exanet run --nodes)")
	row("", "network: TCP, as between hosts (exanet run --hosts)")
	for _, device := range endpoint.List() {
		if device.Err == nil {
			row("", "registers:"+device.Path+": "+device.What)
		}
	}
	row("protocols", strings.Join(mpi.Variants(), ", ")+" (default "+mpi.DefaultVariant+")")
	for i, line := range notified() {
		row([]string{"notifications", ""}[min(i, 1)], line)
	}
	return t.Flush()
}

// yesOr says yes, or why not.
func yesOr(err error) string {
	if err == nil {
		return "yes"
	}
	return "no: " + err.Error()
}

func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown: " + err.Error()
	}
	text := func(b []byte) string { return string(bytes.TrimRight(b, "\x00")) }
	return strings.Join([]string{text(u.Sysname[:]), text(u.Release[:]), text(u.Machine[:])}, " ")
}

func tryMemfd() error {
	f, err := sys.SharedMemory("exanet-info", os.Getpagesize())
	if err != nil {
		return fmt.Errorf("%w: no job of several processes can run", err)
	}
	return f.Close()
}

func tryMembarrier() error {
	if !sys.RegisterBarrier() {
		return fmt.Errorf("the kernel refuses MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED (before Linux 4.16, or a " +
			"seccomp filter)")
	}
	return nil
}
