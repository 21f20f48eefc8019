package main

import (
	"errors"
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
	"github.com/exanet-mpi/exanet/packetizer"
)

// noHardware says what there is not, and what can be done without it.
const noHardware = "no hardware: no device node /dev/exanet*, no UIO or PCI device that could be one; exanet device " +
	"check --model checks a device in software"

// listDevices prints what could be a device, and what it says of itself.
func listDevices(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(path, what string) {
		is, err := selftest.Describe(path)
		if err != nil {
			is = "no: " + strings.Join(strings.Fields(err.Error()), " ")
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", path, what, is)
	}
	hardware := endpoint.List()
	for _, f := range hardware {
		row(f.Path, f.What)
	}
	for _, m := range softwareDevices("/proc") {
		row(m.path, m.what)
	}
	if err := t.Flush(); err != nil || len(hardware) > 0 {
		return err
	}
	_, err := fmt.Fprintln(w, noHardware)
	return err
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
	path, err := endpoint.Find()
	var e *packetizer.Error
	switch {
	case err == nil:
		return path, nil
	case !errors.As(err, &e) || e.Err != endpoint.ErrNotThere: // there are several, or one that cannot be used
		return "", usageError{err}
	}
	soft := softwareDevices("/proc")
	if len(soft) == 0 {
		return "", usageErrorf("no device was found: name its path, or check a model with --model")
	}
	return "", usageErrorf("there is no hardware: name the path of a software device, as %s, of %d here (exanet "+
		"device list), or check a model of your own with --model", soft[0].path, len(soft))
}
