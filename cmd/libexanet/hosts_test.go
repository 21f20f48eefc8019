//go:build real

package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// host is an MPI that programs are built with.
type host struct {
	name     string                // of its library of ours, and behind its commands
	launcher []string              // the command that starts programs
	set      func(string) []string // its arguments for NAME=VALUE in their environment
	env      []string              // of the launcher
}

var (
	mpich = &host{
		name:     "mpich",
		launcher: []string{"mpirun.mpich"},
		set: func(e string) []string {
			name, value, _ := strings.Cut(e, "=")
			return []string{"-genv", name, value}
		},
	}
	openmpi = &host{
		name:     "openmpi",
		launcher: []string{"mpirun.openmpi", "--oversubscribe"},
		set:      func(e string) []string { return []string{"-x", e} },
		env:      []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"},
	}
	hosts = []*host{mpich, openmpi}
)

// libraries is where they are: those that were built elsewhere are tested with this flag.
var libraries = flag.String("libraries", "../../bin", "the folder of the preload libraries")

// What concerns one host, or all alike, is tested with MPICH.
var job, library, compile = mpich.job, mpich.library, mpich.compile

// eachHost runs a test with every host.
func eachHost(t *testing.T, test func(t *testing.T, h *host)) {
	for _, h := range hosts {
		t.Run(h.name, func(t *testing.T) { test(t, h) })
	}
}

// outcome is how a job has ended.
type outcome struct {
	out  string
	code int
}

// job runs a program on n ranks, with a list of NAME=VALUE in its environment.
func (h *host) job(t *testing.T, n int, env []string, program ...string) outcome {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	args := append(h.launcher[1:len(h.launcher):len(h.launcher)], "-np", strconv.Itoa(n))
	for _, e := range env {
		args = append(args, h.set(e)...)
	}
	cmd := exec.CommandContext(ctx, h.launcher[0], append(args, program...)...)
	cmd.Env = append(os.Environ(), h.env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return outcome{string(out), exit.ExitCode()}
	}
	require.NoError(t, err)
	return outcome{string(out), 0}
}

// library is the environment that preloads ours, and more behind it.
func (h *host) library(t *testing.T, more ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(*libraries, "libexanet-"+h.name+".so"))
	require.NoError(t, err)
	require.FileExists(t, path, "make preload builds it")
	return "LD_PRELOAD=" + strings.Join(append([]string{path}, more...), ":")
}

// compile builds a program of testdata.
func (h *host) compile(t *testing.T, name string) string {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join("testdata", name+".*"))
	require.NoError(t, err)
	require.Len(t, sources, 1)
	return h.build(t, sources[0])
}

// build compiles a source file, in the language that its name tells.
func (h *host) build(t *testing.T, source string, flags ...string) (program string) {
	t.Helper()
	kind := filepath.Ext(source)
	compiler := map[string]string{".c": "mpicc.", ".cc": "mpicxx.", ".f90": "mpifort.", ".F90": "mpifort."}[kind]
	if compiler == "mpifort." { // a buffer is of any type; Open MPI's wrapper leaves it to us
		flags = append(flags, "-fallow-argument-mismatch")
	}
	program = filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), kind))
	out, err := exec.Command(compiler+h.name, append(flags, "-O1", "-w", "-pthread", "-o", program,
		source)...).CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}
