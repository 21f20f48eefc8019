package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/check/scenario"
	"github.com/exanet-mpi/exanet/internal/atomicfile"
)

func init() { commands = append(commands, newChart) }

func newChart() *cobra.Command {
	var svg string
	c := &cobra.Command{
		Use:   "chart FILE",
		Short: "Play a scenario and draw its messages",
		Long: `Chart plays a scenario file and draws who sent which message when, as text or,
with --svg, as a drawing. The figures of the thesis are such files, in
variants/testdata; exanet explore writes one when it finds a fault.`,
		Example: `  exanet chart variants/testdata/fig3.05-crossing.txt
  exanet chart fig3.05-crossing.txt --svg crossing.svg`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageErrorf("chart takes one scenario file, as in: exanet chart FILE")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if svg == "" && c.Flags().Changed("svg") {
				return usageErrorf("--svg: name the file to write, as crossing.svg")
			}
			text, err := readScenario(args[0])
			if err != nil {
				return usageError{err}
			}
			s, shown, err := scenario.PlayFile(text)
			if err != nil {
				return usageErrorf("%s is no scenario that can be played: %w", args[0], err)
			}
			if svg == "" {
				_, err = fmt.Fprint(c.OutOrStdout(), shown)
				return err
			}
			out, err := atomicfile.Create(svg)
			if err != nil {
				return usageErrorf("--svg: %w", err)
			}
			defer discard(out)
			if _, err := out.WriteString(s.Chart.SVG()); err != nil {
				return err
			}
			return out.CloseAtomicallyReplace()
		},
	}
	c.Flags().StringVar(&svg, "svg", "", "write a drawing to this file instead")
	return c
}

// longestScenario is how many bytes of a file are read: a device has no end.
const longestScenario = 1 << 20

func readScenario(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longestScenario+1))
	if err == nil && len(text) > longestScenario {
		err = fmt.Errorf("%s is no scenario: it has more than %d bytes", name, longestScenario)
	}
	return string(text), err
}
