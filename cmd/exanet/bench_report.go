package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/bench/report"
	"github.com/exanet-mpi/exanet/launch"
	"github.com/exanet-mpi/exanet/launch/preload"
)

func newReport() *cobra.Command {
	var (
		c                  report.Config
		only, hosts        string
		shell              shellFlag
		render, list       bool
		programs, libraryD string
	)
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Compare with the MPIs that are installed, and write a page about it",
		Long: `Run the benchmarks in C (bench/osu) and applications under MPICH and Open MPI, as they
are and with the preload library, in turn; then write a page: a table of bounds and
whether each is kept, and plots. All of a page is of one run.

make build preload bench-programs builds what it needs. The full form takes half an
hour, --quick some minutes; the machine should have nothing else to do. A run that hangs
or fails costs its figures only, and the page says so.

With --baseline the libraries of another build (and its exanet and cg, for programs in Go)
take turns with those of this one. --only measures some sections, of which alone the page
is then; --render makes the page anew from what is stored. The page is FOLDER.md; what it
has outside the report's part stays. The plots are in FOLDER. --with writes FOLDER-newer.md
as well, of figures that make bench-today has stored.

With --hosts the report is about ranks of different hosts, which mpirun starts by the remote
shell. The benchmarks and the library must be on each host, under the same paths as here.
make bench-hosts makes hosts on this machine and measures between them.`,
		Example: `  exanet bench report --quick --out /tmp/performance
  exanet bench report --out docs/performance --results bench/results/report.jsonl
  exanet bench report --out /tmp/performance --baseline ../before/bin --only applications
  exanet bench report --out docs/performance --results bench/results/report.jsonl --render
  exanet bench report --hosts node1,node2,node3 --out /tmp/performance-hosts`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			if err := shell.check(cmd); err != nil {
				return err
			}
			if cmd.Flags().Changed("hosts") {
				c.Hosts = strings.Split(hosts, ",")
				if err := differ(c.Hosts); err != nil {
					return usageErrorf("--hosts %s: %w", hosts, err)
				}
			}
			names, titles := c.Sections()
			if list {
				for i, name := range names {
					fmt.Fprintf(out, "%-14s%s\n", name, titles[i])
				}
				return nil
			}
			if inJob() {
				return usageErrorf("%s starts its own jobs: call it outside a job", cmd.CommandPath())
			}
			if c.Out == "" {
				return usageErrorf("--out: a page needs a name")
			}
			c.Out = strings.TrimSuffix(filepath.Clean(c.Out), ".md")
			if render {
				return report.Render(&c)
			}
			if c.Rounds < 0 {
				return usageErrorf("--rounds %d: use 1 or more, or 0 for as many as usual", c.Rounds)
			}
			if cmd.Flags().Changed("only") {
				c.Only = strings.Split(only, ",")
				for _, name := range c.Only {
					if !slices.Contains(names, name) {
						return usageErrorf("--only: there is no section %q: use some of %s", name,
							strings.Join(names, ", "))
					}
				}
			}
			here, err := os.Getwd()
			if err != nil {
				return err
			}
			c.Exanet, c.Dirs, c.Env = self(), preload.Dirs(self(), here), os.Environ()
			if libraryD != "" {
				c.Dirs = []string{libraryD}
			}
			c.Programs = programs
			if programs == "" {
				c.Programs = filepath.Dir(self())
			}
			if c.Programs, err = filepath.Abs(c.Programs); err != nil {
				return err
			}
			if c.Baseline != "" {
				if c.Baseline, err = filepath.Abs(c.Baseline); err != nil {
					return err
				}
				if err := c.CheckBaseline(); err != nil {
					return usageErrorf("--baseline: %w", err)
				}
			}
			if c.Hosts != nil {
				var remove func()
				if c.Shell, remove, err = shell.program(); err != nil {
					return err
				}
				defer remove()
			}
			c.Progress, c.Terminal = cmd.ErrOrStderr(), isTerminal(cmd.ErrOrStderr())
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return report.Run(ctx, &c)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.Out, "out", "performance", "the page, without .md, and the folder for plots")
	flags.StringVar(&c.Results, "results", "", "the file for all figures (default FOLDER.jsonl)")
	flags.StringSliceVar(&c.With, "with", nil, "files of figures under newer MPIs, for a page of their own")
	flags.StringVar(&c.Baseline, "baseline", "", "directory of another build's preload libraries, to compare with")
	flags.BoolVar(&c.Quick, "quick", false, "fewer sizes, ranks and rounds")
	flags.IntVar(&c.Rounds, "rounds", 0, "runs each way, and more of short ones; 0: 5, with --quick 3")
	flags.BoolVar(&c.Middle, "medians", false, "medians over the iterations of a run, too, where OSU has means: for "+
		"a machine that does other things meanwhile")
	names, _ := c.Sections()
	flags.StringVar(&only, "only", "", "sections to measure: "+strings.Join(names, ", "))
	flags.StringVar(&hosts, "hosts", "", fmt.Sprintf("measure between these %d hosts, as a,b,c", report.HostsWanted))
	shell.add(cmd)
	flags.BoolVar(&render, "render", false, "measure nothing, make the page from what is stored")
	flags.BoolVar(&list, "list", false, "print the sections")
	flags.StringVar(&programs, "programs", "", "directory of the benchmarks (default that of exanet)")
	flags.StringVar(&libraryD, "lib", "", "directory of the preload library (default as with exanet preload)")
	return cmd
}

// program returns the path of a program that does what the words do, for launchers that want a single one: if there
// are several words, that of a script, which remove takes away.
func (s shellFlag) program() (path string, remove func(), err error) {
	words, err := s.words()
	if err != nil {
		return "", nil, err
	}
	if words[0], err = launch.FindProgram(words[0]); err != nil {
		return "", nil, err
	}
	if words[0], err = filepath.Abs(words[0]); err != nil || len(words) == 1 {
		return words[0], func() {}, err
	}
	dir, err := os.MkdirTemp("", "exanet-shell-")
	if err != nil {
		return "", nil, err
	}
	script := "#!/bin/sh\nexec"
	for _, w := range words {
		script += " " + launch.Quoted(w)
	}
	path = filepath.Join(dir, filepath.Base(words[0])) // Open MPI treats ssh as such
	if err := os.WriteFile(path, []byte(script+` "$@"`+"\n"), 0o700); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return path, func() { _ = os.RemoveAll(dir) }, nil
}

// differ is the error of a list that does not name as many different hosts as a report takes.
func differ(hosts []string) error {
	sorted := slices.Compact(slices.Sorted(slices.Values(hosts)))
	if len(hosts) != report.HostsWanted || len(sorted) != len(hosts) || sorted[0] == "" ||
		slices.ContainsFunc(hosts, func(h string) bool { return h[0] == '-' || strings.Contains(h, ":") }) {
		return fmt.Errorf("want the names of %d hosts, as node1,node2,node3", report.HostsWanted)
	}
	return nil
}
