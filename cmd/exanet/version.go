package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func init() { commands = append(commands, newVersion) }

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of exanet and of Go",
		Example: "  exanet version",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "exanet %s\n", version())
			return err
		},
	}
}
