package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/exanet-mpi/exanet/internal/env"
)

// commands make the subcommands of exanet; each file of a command adds its own
// in an init function.
var commands []func() *cobra.Command

// run executes a command line and returns its exit code.
func run(args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(withNP(root, args))
	root.SetOut(stdout)
	root.SetErr(stderr)
	if !inJob() && (len(args) == 0 || args[0] != "preload") { // else the launcher or the library says it
		env.WarnOnce(stderr)
	}
	err := root.ExecuteContext(context.Background())
	explain(stderr, err)
	return exitCode(err)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "exanet",
		Short: "MPI over the Exanet protocols",
		Long: `Exanet runs MPI programs over the write-based protocols of the Exanet
prototype: on an emulation of its devices in shared memory, or on a simulation
of the whole in virtual time. It has not been on the hardware yet.

The exit code is 0 if a command has done what it is for, 1 if that has failed (a
check of exanet device check, say), and 2 if its arguments are wrong or a file
that they name is. Those that run a program (run, preload, sim run) end with the
program's code; 127 and 126 then say, as in a shell, that there is no such program
and that it cannot be executed, and 124 that a --timeout is over.`,
		Example: `  exanet run -n 4 ./hello
  exanet info`,
		Version:       version(),
		SilenceErrors: true, // explain does it, in one line
		SilenceUsage:  true,
		Args:          noSuchCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("exanet {{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if names := c.Flags().Args(); c.HasSubCommands() && len(names) > 0 { // a flag of a command that is not there
			return noSuchCommand(c, names)
		}
		var value *pflag.InvalidValueError
		if errors.As(err, &value) {
			err = wrongValue(value)
		}
		return usageErrorf("%w (see %s --help)", err, c.CommandPath())
	})
	root.SetHelpCommand(newHelp())
	for _, newCommand := range commands {
		root.AddCommand(newCommand())
	}
	addCompletion(root)
	completeValues(root)
	badArgsAreUsage(root)
	return root
}

// badArgsAreUsage makes usage errors of what the commands' checks of their
// arguments return.
func badArgsAreUsage(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usageError{err}
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		badArgsAreUsage(sub)
	}
}

// noSuchCommand sees what is left when no command below c has been recognised.
func noSuchCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "see " + c.CommandPath() + " --help"
	c.SuggestionsMinimumDistance = 2
	if similar := c.SuggestionsFor(args[0]); len(similar) > 0 {
		hint = "did you mean " + strings.Join(similar, " or ") + "?"
	}
	return usageErrorf("unknown command %q (%s)", args[0], hint)
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		Example: `  exanet help run
  exanet run --help`,
		RunE: func(c *cobra.Command, args []string) error {
			topic, rest, err := c.Root().Find(args)
			if err != nil {
				return usageError{err}
			}
			if len(rest) > 0 {
				return noSuchCommand(topic, rest)
			}
			topic.InitDefaultHelpFlag()
			topic.InitDefaultVersionFlag()
			return topic.Help()
		},
	}
}

// noArgs refuses arguments of a command that takes none.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageErrorf("%s takes no arguments: %q", c.Name(), args[0])
	}
	return nil
}

// release is the version of an archive (scripts/dist.sh).
var release string

// version is that of the archive or the module, or the revision that was built.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	if release != "" {
		return release + " " + info.GoVersion
	}
	v := info.Main.Version
	var revision, modified string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = ", modified"
		}
	}
	if revision != "" {
		v += fmt.Sprintf(" (%s%s)", revision, modified)
	}
	return v + " " + info.GoVersion
}
