//go:build real

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// host is an MPI that programs are built with.
type host struct {
	name     string                // of its library of ours
	mpi      string                // behind the names of its commands
	launcher []string              // the command that starts programs
	set      func(string) []string // its arguments for NAME=VALUE in their environment
	env      []string              // of the launcher
	abi      bool                  // programs are those of the standard ABI
	flags    []string              // of the compiler: for its faults, and for that
}

var (
	mpich = &host{
		name:     "mpich",
		mpi:      "mpich",
		launcher: []string{"mpirun.mpich"},
		set: func(e string) []string {
			name, value, _ := strings.Cut(e, "=")
			return []string{"-genv", name, value}
		},
	}
	openmpi = &host{
		name:     "openmpi",
		mpi:      "openmpi",
		launcher: []string{"mpirun.openmpi", "--oversubscribe"},
		set:      func(e string) []string { return []string{"-x", e} },
		env:      []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"},
	}
	hosts = []*host{mpich, openmpi}

	// abis are the same with their libraries of the standard ABI, as far as they have them.
	abis []*host
)

// findABIs looks for the libraries of the standard ABI, which have one name, and makes links to them in folders of
// their own below dir. The test programs know what is peculiar to a host by macros of its header. Libraries that were
// built elsewhere may be without the one for these.
func findABIs(dir string) error {
	if _, err := os.Stat(filepath.Join(*libraries, "libexanet-abi.so")); err != nil {
		return nil
	}
	for _, h := range hosts {
		libraries, _ := filepath.Glob("/usr/lib/*/libmpi_abi_" + h.mpi + ".so.1.*")
		headers, _ := filepath.Glob(map[*host]string{
			mpich: "/usr/lib/*/mpi_abi_mpich/include", openmpi: "/usr/lib/*/openmpi/include/standard_abi"}[h])
		if len(libraries)+len(headers) == 0 {
			continue
		}
		if len(libraries) != 1 || len(headers) != 1 {
			return fmt.Errorf("the standard ABI of %s: want a library and a folder of headers, found %q and %q", h.mpi,
				libraries, headers)
		}
		to := filepath.Join(dir, h.mpi)
		if err := os.Mkdir(to, 0o777); err != nil {
			return err
		}
		for _, name := range []string{"libmpi_abi.so", "libmpi_abi.so.1"} {
			if err := os.Symlink(libraries[0], filepath.Join(to, name)); err != nil {
				return err
			}
		}
		abi := *h
		abi.name, abi.abi = "abi", true
		names := map[*host][]string{mpich: {"-DMPICH", "-DMPICH_VERSION"}, openmpi: {"-DOPEN_MPI"}}[h]
		abi.flags = slices.Concat(h.flags, names, []string{"-DSTANDARD_ABI", "-I" + headers[0], "-L" + to,
			"-Wl,-rpath," + to, "-lmpi_abi"})
		for _, object := range []string{"Request", "Message"} {
			abi.flags = append(abi.flags, fmt.Sprintf("-DMPI_%[1]s_c2f=MPI_%[1]s_toint", object),
				fmt.Sprintf("-DMPI_%[1]s_f2c=MPI_%[1]s_fromint", object))
		}
		abis = append(abis, &abi)
	}
	if len(abis) == 0 {
		return errors.New("libexanet-abi.so is built, but no MPI has a library of the standard ABI where Debian has it")
	}
	return nil
}

// libraries is where they are: those that were built elsewhere are tested with this flag.
var libraries = flag.String("libraries", "../../bin", "the folder of the preload libraries")

// What concerns one host, or all alike, is tested with MPICH.
var job, library, compile = mpich.job, mpich.library, mpich.compile

// eachHost runs a test with every host.
func eachHost(t *testing.T, test func(t *testing.T, h *host)) {
	for _, h := range append(hosts, abis...) {
		t.Run(h.title(), func(t *testing.T) { test(t, h) })
	}
}

// faults are what hosts do wrong alone, or not at all, each with a macro that has the programs leave it out, and the
// versions as the preprocessor tells them. The same is left out under the host's library of the standard ABI.
var faults = []struct{ macro, where string }{
	{"NO_LOGIC_OF_INTEGERS", mpich5},   // of Fortran: older ones have it beyond the standard
	{"NO_NULL_TYPE_TO_REDUCE", mpich5}, // an assertion of MPI_Allreduce ends the program
	{"NO_CODE_AFTER_HANDLER", mpich5},  // of the program, which a call that waits has called
	{"NO_SHARED_WINDOWS", mpich5},      // of several ranks: each is told to be alone on its machine
	{"NO_ALLTOALLV_ON_GRIDS", mpich5},  // that of mpi_f08 asks for the neighbours in a distributed graph
	{"NO_IDUPS_OF_PARENTS", mpich5},    // of several at the same time: its ranks wait for each other for ever
	{noRandom, mpich5},                 // random programs: MPI_Send hangs
	{noThreads, openmpi6},              // several threads of several ranks hang now and then
}

const (
	mpich5   = "MPICH_NUMVERSION >= 50000000"
	openmpi6 = "OMPI_MAJOR_VERSION >= 6"

	noRandom  = "NO_RANDOM_PROGRAMS"
	noThreads = "NO_THREADS"
)

// findFaults looks which faults the hosts have.
func findFaults() error {
	text := "#include <mpi.h>\n"
	for _, f := range faults {
		text += fmt.Sprintf("#if %s\nhas %s\n#endif\n", f.where, f.macro)
	}
	for _, h := range hosts {
		cmd := h.compiler(".c", "-E", "-x", "c", "-")
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("the header of %s: %w", h.mpi, err)
		}
		for _, found := range regexp.MustCompile(`(?m)^has (\w+)$`).FindAllStringSubmatch(string(out), -1) {
			h.flags = append(h.flags, "-D"+found[1])
		}
	}
	return nil
}

// title names a host in tests.
func (h *host) title() string {
	if h.abi {
		return "abi-" + h.mpi
	}
	return h.name
}

// outcome is how a job has ended.
type outcome struct {
	out  string
	code int
}

// inTime is for jobs that take seconds, on a machine where others compute beside them.
const inTime = 5 * time.Minute

// job runs a program on n ranks, with a list of NAME=VALUE in its environment. One that does not end fails the test.
func (h *host) job(t *testing.T, n int, env []string, program ...string) outcome {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), inTime)
	defer stop()
	args := append(h.launcher[1:len(h.launcher):len(h.launcher)], "-np", strconv.Itoa(n))
	for _, e := range env {
		args = append(args, h.set(e)...)
	}
	cmd := exec.CommandContext(ctx, h.launcher[0], append(args, program...)...)
	cmd.Env = append(os.Environ(), h.env...)
	cmd.WaitDelay = 10 * time.Second // ranks that outlive their launcher have its output open
	out, err := cmd.CombinedOutput()
	require.NoError(t, ctx.Err(), "%v has not ended: %.2000s", program, out)
	var exit *exec.ExitError
	out = complaints.ReplaceAll(out, nil)
	if errors.As(err, &exit) {
		return outcome{string(out), exit.ExitCode()}
	}
	require.NoError(t, err)
	return outcome{string(out), 0}
}

// complaints are what Open MPI 6 says of its own windows, with the number of the process, in two lines that come
// between any others.
var complaints = regexp.MustCompile(`(?m)^(\[.*osc_ucx_component.*| )\n`)

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
	if strings.EqualFold(kind, ".f90") {
		if _, err := exec.LookPath("mpifort_abi"); h.abi && err != nil {
			t.Skip("the MPI has no compiler of Fortran for the standard ABI:", err)
		}
		// A buffer is of any type; Open MPI's wrapper leaves it to us.
		flags = append(flags, "-fallow-argument-mismatch")
	}
	dir := t.TempDir()
	if strings.EqualFold(kind, ".f90") {
		flags = append(flags, "-J"+dir) // where it writes what its modules have
	}
	program = filepath.Join(dir, strings.TrimSuffix(filepath.Base(source), kind))
	out, err := h.compiler(kind, append(flags, "-O1", "-w", "-pthread", "-o", program, source)...).CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

// compiler is the command that compiles and links programs whose source files have names that end in kind.
func (h *host) compiler(kind string, args ...string) *exec.Cmd {
	args = append(args, h.flags...)
	if h.abi {
		compilers := map[string]string{".c": "cc", ".cc": "c++", ".f90": "mpifort_abi", ".F90": "mpifort_abi"}
		return exec.Command(compilers[kind], args...)
	}
	wrapper := map[string]string{".c": "mpicc.", ".cc": "mpicxx.", ".f90": "mpifort.", ".F90": "mpifort."}[kind]
	return exec.Command(wrapper+h.mpi, args...)
}
