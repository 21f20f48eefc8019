package main

import (
	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/bench/report"
	"github.com/exanet-mpi/exanet/mpi"
)

// values are those that a shell offers for flags of these names, in every command that does not
// offer its own.
var values = map[string]func() []string{
	"variant": mpi.Variants,
	"device":  mpi.Devices,
	"only":    func() []string { names, _ := new(report.Config).Sections(); return names },
}

// completeValues lets shells offer the values of a command's flags, and of its subcommands'.
func completeValues(c *cobra.Command) {
	for name, list := range values {
		if c.Flags().Lookup(name) != nil {
			_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(list(), cobra.ShellCompDirectiveNoFileComp))
		}
	}
	for _, sub := range c.Commands() {
		completeValues(sub)
	}
}

// addCompletion adds cobra's command, with examples in the form of the others'.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd("completion")
	c, _, _ := root.Find([]string{"completion"})
	c.Short = "Print the completion script of a shell"
	c.Example = "  exanet completion bash"
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageErrorf("there is no completion for %q (see exanet completion --help)", args[0])
		}
		return nil
	}
	c.RunE = root.RunE // without which its arguments are not looked at
	for _, sub := range c.Commands() {
		sub.Example = "  exanet completion " + sub.Name()
	}
}
