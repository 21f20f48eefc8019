package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/bench/compare"
	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/launch/preload"
	"github.com/exanet-mpi/exanet/mpi"
)

// The progress benchmark side by side: protocols in Go, or the same benchmark in C (bench/osu) under other MPIs, alone
// and with the library and a protocol.

// contender is one column. It makes one sweep: a column for each order, with a row for each size.
type contender struct {
	name    string
	measure func(ctx context.Context) ([]bench.Column, error)
}

// progressOf is what --json prints of an order.
type progressOf struct {
	Order   string         `json:"order"`
	Columns []bench.Column `json:"columns"`
}

// peerHosts are the MPIs with benchmark programs, and their names in a column.
var peerHosts = []struct {
	mpi  preload.MPI
	name string
}{{preload.MPICH, "mpich"}, {preload.OpenMPI, "ompi"}}

// sideBySide measures the protocols of --variant, or with --peers the other MPIs and the default or those.
func (f *progressFlags) sideBySide(cmd *cobra.Command, sizes []int) error {
	if inJob() {
		return usageErrorf("%s --variant and --peers start their own jobs: call it outside a job", cmd.CommandPath())
	}
	if !cmd.Flags().Changed("repeat") {
		f.repeat = variantRounds
	}
	if f.variant == "" {
		f.variant = mpi.DefaultVariant
	}
	protocols, err := someOf("variant", f.variant, mpi.Variants())
	if err != nil {
		return err
	}
	if f.withPeers {
		list, err := f.peers(sizes, protocols)
		if err != nil {
			return err
		}
		return f.inTurn(cmd, list, list[0].name)
	}
	var list []contender
	for _, name := range protocols {
		list = append(list, f.protocol(name))
	}
	return f.inTurn(cmd, list, variantBase)
}

// inTurn has all contenders measure in turn, and prints a table of medians for each order.
func (f *progressFlags) inTurn(cmd *cobra.Command, list []contender, base string) error {
	out := make([]progressOf, len(bench.Orders))
	for i, o := range bench.Orders {
		out[i].Order = o.Name
		for _, c := range list {
			out[i].Columns = append(out[i].Columns, bench.Column{Name: c.name})
		}
	}
	if err := inRounds(cmd, f.repeat, len(list), func(i int) error {
		columns, err := list[i].measure(cmd.Context())
		if err != nil {
			return fmt.Errorf("%s: %w", list[i].name, err)
		}
		for k := range out {
			out[k].Columns[i].Add(columns[k].Rows)
		}
		return nil
	}); err != nil {
		return err
	}
	if f.json {
		return writeJSON(cmd.OutOrStdout(), out)
	}
	for _, o := range out {
		if err := errors.Join(
			bench.WriteColumns(cmd.OutOrStdout(), title(cmd, 2, f.repeat), o.Order+", Round (us)", o.Columns),
			bench.WriteRatios(cmd.OutOrStdout(), base, o.Columns)); err != nil {
			return err
		}
	}
	return nil
}

// protocol is the benchmark in Go with a protocol, in a job of its own.
func (f *progressFlags) protocol(name string) contender {
	args := []string{"bench", "progress", "--json", "--sizes=" + f.sizes, "--unit=" + f.unit.String(),
		fmt.Sprintf("--iterations=%d", f.iterations), fmt.Sprintf("--warmup=%d", f.warmup),
		fmt.Sprintf("--alone=%t", f.alone)}
	return contender{name, func(ctx context.Context) (columns []bench.Column, err error) {
		var out bytes.Buffer
		if err := launchSelf(ctx, f.ranks, args, []string{env.Variant + "=" + name}, &out); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(out.Bytes(), &columns); err != nil || len(columns) != len(bench.Orders) {
			return nil, fmt.Errorf("its ranks printed %q", out.String())
		}
		return columns, nil
	}}
}

// peers are the benchmark in C under each MPI that it is built for: alone, and preloaded with each protocol.
func (f *progressFlags) peers(sizes []int, protocols []string) (list []contender, err error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dirs := preload.Dirs(self(), here)
	for _, h := range peerHosts {
		program := ""
		for _, d := range dirs {
			path := filepath.Join(d, "osu-"+string(h.mpi))
			if _, err := os.Stat(path); err == nil && program == "" {
				program = path
			}
		}
		if program == "" {
			continue
		}
		w, err := compare.Launched(h.mpi, 2, program, nil, os.Environ())
		if err != nil {
			continue // it is not installed here
		}
		list = append(list, f.program(h.name, w, sizes))
		for _, p := range protocols {
			ours, err := w.Preloaded(h.mpi, dirs)
			if err != nil {
				return nil, err
			}
			list = append(list, f.program(p+"/"+h.name, ours.With(env.Variant+"="+p), sizes))
		}
	}
	if list == nil {
		return nil, errors.New("there is no MPI with its benchmark program in " + strings.Join(dirs, ", ") +
			": make deps bench-programs")
	}
	return list, nil
}

// shortly is how many milliseconds a size takes in an order, about, and programLimit how long a run may.
const (
	shortly      = "100"
	programLimit = time.Minute
)

// program is the benchmark in C, with a run for each size.
func (f *progressFlags) program(name string, w compare.Way, sizes []int) contender {
	w.Limit = programLimit
	base := append(w.Words[:len(w.Words):len(w.Words)], "progress", "-M", "-u",
		strconv.Itoa(int(f.unit.Microseconds())))
	if f.iterations > 0 {
		base = append(base, "-i", strconv.Itoa(f.iterations))
	} else {
		base = append(base, "-t", shortly)
	}
	return contender{name, func(ctx context.Context) ([]bench.Column, error) {
		columns := make([]bench.Column, len(bench.Orders))
		for _, size := range sizes {
			w.Words = append(base[:len(base):len(base)], "-m", fmt.Sprintf("%d:%d", size, size))
			o, err := compare.Once(ctx, w)
			if err != nil {
				return nil, err
			}
			tables := compare.Tables(o.Output)
			if o.Code != 0 || len(tables) != len(columns) {
				return nil, fmt.Errorf("%s exits with code %d: %s", strings.Join(w.Words, " "), o.Code, o.All())
			}
			for i, t := range tables {
				v := t.Rows[0].Values[0]
				columns[i].Rows = append(columns[i].Rows, bench.Row{Size: size, Value: v, Repeats: []float64{v}})
			}
		}
		return columns, nil
	}}
}
