package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/exanet-mpi/exanet/endpoint"
	"github.com/exanet-mpi/exanet/endpoint/selftest"
)

// listDevices prints what could be a device, and what it says of itself.
func listDevices(w io.Writer) error {
	found := 0
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(path, what string) {
		is, err := selftest.Describe(path)
		if err != nil {
			is = "no: " + strings.Join(strings.Fields(err.Error()), " ")
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", path, what, is)
		found++
	}
	for _, path := range deviceNodes() {
		row(path, "device node")
	}
	for _, f := range endpoint.List() {
		row(f.Path, f.What)
	}
	for _, m := range softwareDevices("/proc") {
		row(m.path, m.what)
	}
	if found == 0 {
		_, err := fmt.Fprintln(w, "none: no device node /dev/exanet*, no UIO or PCI device that could be one, no "+
			"software "+
			"device (exanet device check --model runs one)")
		return err
	}
	return t.Flush()
}

// softwareDevice is the register file of a node of a model that another process runs.
type softwareDevice struct{ path, what string }

// softwareDevices finds those whose process this user may look into. The ranks
// of a job have inherited the file as well; the first process is named.
func softwareDevices(proc string) (all []softwareDevice) {
	files, _ := filepath.Glob(filepath.Join(proc, "[0-9]*", "fd", "*"))
	var seen []fs.FileInfo
	for _, path := range files {
		to, err := os.Readlink(path)
		if err != nil || !strings.HasPrefix(to, "/memfd:exanet-device") {
			continue
		}
		st, err := os.Stat(path)
		if err != nil || slices.ContainsFunc(seen, func(s fs.FileInfo) bool { return os.SameFile(s, st) }) {
			continue
		}
		seen = append(seen, st)
		dir := filepath.Dir(filepath.Dir(path))
		name, _ := os.ReadFile(filepath.Join(dir, "comm"))
		all = append(all, softwareDevice{path, fmt.Sprintf("software device of process %s (%s)", filepath.Base(dir),
			strings.TrimSpace(string(name)))})
	}
	return all
}

// onlyDevice is the path of the only device that could be hardware.
func onlyDevice() (string, error) {
	paths := deviceNodes()
	for _, f := range endpoint.List() {
		if f.Err == nil {
			paths = append(paths, f.Path)
		}
	}
	switch len(paths) {
	case 1:
		return paths[0], nil
	case 0:
		return "", usageErrorf("no device was found: name its path (see exanet device list), or check a model with " +
			"--model")
	}
	return "", usageErrorf("which device? There are %s", strings.Join(paths, ", "))
}
