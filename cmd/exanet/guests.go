//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/launch/guests"
)

func init() { commands = append(commands, newGuests) }

// guestNodes is how many nodes exanet guests boots: so many as its network joins.
const guestNodes = 2

// guestMemory is that of each, in MiB.
const guestMemory = 512

func newGuests() *cobra.Command {
	var folder, console string
	c := &cobra.Command{
		Use:   "guests",
		Short: "Boot two ARM64 machines with the registers of the prototype, to look around in",
		Long: `Guests boots two ARM64 machines under QEMU as two nodes of the prototype, and shows
the console of the first. The PCI memory of each is its node's registers; the
hardware behind them is a model on this machine. Say

  run cg -grid 24          a program on both nodes, one rank each
  exanet device check      what the registers say of themselves
  exit 0                   ends both; so do the end of the input and Ctrl-C

It works in the source tree, with Go. The first time it fetches a kernel from the
Debian packages of this system (21 MB) and Go modules (15 MB), and builds u-root's
shell, half a minute; it installs QEMU (15 MB, as root) if that is missing.
Everything but QEMU goes into one folder. Nothing of the guests is left afterwards.`,
		Example: `  exanet guests
  echo run cg -grid 24 | exanet guests
  exanet guests --console /tmp/exanet-guests-123/node1   # in another terminal; guests says where`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := interruptible(c.Context())
			defer stop()
			if c.Flags().Changed("console") {
				return attachConsole(ctx, console)
			}
			return runGuests(ctx, c.ErrOrStderr(), folder)
		},
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	c.Flags().StringVar(&folder, "folder", filepath.Join(cache, "exanet", "guests"),
		"folder for what is fetched and built")
	c.Flags().StringVar(&console, "console", "", "show the console of a node of another exanet guests, by its path")
	return c
}

// runGuests returns when the first guest has ended, or ctx has.
func runGuests(ctx context.Context, log io.Writer, folder string) error {
	if err := guests.Source(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return usageErrorf("--folder %q: %w", folder, err)
	}
	kernel := filepath.Join(folder, "kernel")
	fmt.Fprintf(log, "exanet guests: kernel and shell in %s; what is missing is fetched and built now\n", folder)
	if err := guests.Fetch(ctx, kernel, log); err != nil {
		return err
	}
	shell, err := guests.BuildShell(ctx, folder)
	if err != nil {
		return err
	}
	image, err := guestImage(ctx, kernel, shell)
	if err != nil {
		return err
	}
	defer image.Close()
	sockets, err := os.MkdirTemp("", "exanet-guests-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(sockets)

	cfg := guests.Config{Kernel: kernel, Image: image, Nodes: guestNodes, Memory: guestMemory, Interfaces: 4,
		Shell: guests.Shell}
	ctx, end := context.WithCancel(ctx)
	defer end()
	here, restore, err := newTerminal(end)
	if err != nil {
		return err
	}
	defer restore()
	cfg.Console, cfg.Jobs = []io.ReadWriter{here}, here
	for n := 1; n < guestNodes; n++ {
		path := filepath.Join(sockets, fmt.Sprintf("node%d", n))
		s, err := newSocket(path)
		if err != nil {
			return err
		}
		defer s.Close()
		cfg.Console = append(cfg.Console, s)
		fmt.Fprintf(here, "exanet guests: the console of node %d: exanet guests --console %s\n", n, path)
	}
	g, err := guests.Start(ctx, cfg)
	if err != nil {
		return err
	}
	defer g.Close()
	if err := g.Nodes[0].Wait(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// guestImage is what the guests boot: the shell, this program and an example.
func guestImage(ctx context.Context, kernel, shell string) (*os.File, error) {
	tmp, err := os.MkdirTemp("", "exanet-guests-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	programs := []string{guests.First, guests.Module + "/cmd/exanet", guests.Module + "/examples/cg"}
	if err := guests.Build(ctx, tmp, programs...); err != nil {
		return nil, err
	}
	image, err := guests.NewImage(kernel, filepath.Join(tmp, filepath.Base(guests.First)), shell)
	if err != nil {
		return nil, err
	}
	for _, p := range programs[1:] {
		name := filepath.Base(p)
		if err := image.Add(filepath.Join(tmp, name), "bin/"+name); err != nil {
			return nil, err
		}
	}
	return image.File()
}
