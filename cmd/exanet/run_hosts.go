package main

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/launch"
)

func init() { commands = append(commands, newRunPart) }

// shellFlag is --shell, of commands that have --hosts.
type shellFlag string

func (s *shellFlag) add(c *cobra.Command) {
	c.Flags().StringVar((*string)(s), "shell", "ssh", "what runs a command on another host, given that and the "+
		"command, with\narguments of its own, as \"ssh -p 2222\", split at blanks")
}

// check is that of a command line.
func (s shellFlag) check(c *cobra.Command) error {
	if c.Flags().Changed("shell") && !c.Flags().Changed("hosts") {
		return usageErrorf("--shell %s: it is for --hosts, and without that no other host is called", s)
	}
	return nil
}

// words are a program and its arguments.
func (s shellFlag) words() ([]string, error) {
	words := strings.Fields(string(s))
	if len(words) == 0 {
		return nil, usageErrorf("--shell: name a command, as ssh")
	}
	return words, nil
}

// runOnHosts runs a job on the hosts of a list.
func runOnHosts(ctx context.Context, cfg launch.Config, list string, shell shellFlag) error {
	hosts, err := launch.ParseHosts(list)
	if err != nil {
		return usageErrorf("--hosts: %w", err)
	}
	all := 0
	for _, h := range hosts {
		if h.Ranks > host.MaxRanks-all {
			return usageErrorf("--hosts %s: these are too many ranks: a job has up to %d", list, host.MaxRanks)
		}
		all += h.Ranks
	}
	if cfg.Ranks != 0 && cfg.Ranks != all {
		return usageErrorf("-n %d: the hosts of --hosts have %d ranks; leave -n away", cfg.Ranks, all)
	}
	words, err := shell.words()
	if err != nil {
		return err
	}
	device := deviceOf(cfg.Env)
	if device == "" {
		device = "network"
		cfg.Env = append(cfg.Env, "EXANET_DEVICE="+device)
	}
	if err := checkSettings(cfg.Env, false); err != nil {
		return err
	}
	if device != "network" && !strings.HasPrefix(device, "registers:") {
		return usageErrorf("the device %s is within one host: with --hosts it is network or registers:PATH", device)
	}
	return launch.RunHosts(ctx, cfg, launch.Hosts{List: hosts, Shell: words, Exanet: self()})
}

// newRunPart is what run --hosts starts on each host.
func newRunPart() *cobra.Command {
	return &cobra.Command{
		Use:    "run-part",
		Short:  "Run the ranks of one host, for exanet run --hosts",
		Hidden: true,
		Args:   noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return launch.RunPart(c.Context(), os.Stdin, os.Stdout, os.Stderr)
		},
	}
}
