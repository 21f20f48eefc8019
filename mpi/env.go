package mpi

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// The environment of a process (MPI chapters "Environmental Management" and
// "Process Initialization").

// Initialized reports whether this process has called Init (MPI_Initialized).
// Ranks of Run need no Init.
func Initialized() bool {
	process.Lock()
	defer process.Unlock()
	return process.inited
}

// Finalized reports whether this process has called Finalize (MPI_Finalized).
func Finalized() bool {
	process.Lock()
	defer process.Unlock()
	return process.ended
}

// ThreadLevel returns what Init or Run was told about goroutines that make
// calls (MPI_Query_thread). Any of them may, whatever it says.
func (c *Comm) ThreadLevel() ThreadLevel {
	if c == nil || c.rank == nil {
		return ThreadMultiple
	}
	return c.rank.level
}

func (l ThreadLevel) String() string {
	names := [...]string{"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"}
	if l < 0 || int(l) >= len(names) {
		return fmt.Sprintf("thread level %d", int(l))
	}
	return names[l]
}

// IsThreadMain reports whether the caller runs on the kernel's thread that has called Init
// (MPI_Is_thread_main). A goroutine keeps its thread only between runtime.LockOSThread and
// runtime.UnlockOSThread. Only Linux numbers threads: elsewhere any that calls after Init counts.
func IsThreadMain() bool {
	process.Lock()
	defer process.Unlock()
	return process.inited && process.thread == sys.Thread()
}

// started is where Wtime counts from.
var started = time.Now()

// Wtime returns the seconds since some moment in the past (MPI_Wtime), by a
// clock that is never set back. It is not the same moment in all ranks. In a
// simulation it is still the time of day: see Comm.Now.
func Wtime() float64 { return time.Since(started).Seconds() }

// Wtick returns the resolution of Wtime in seconds (MPI_Wtick).
func Wtick() float64 { return sys.ClockTick().Seconds() }

// ProcessorName names the machine that the caller runs on
// (MPI_Get_processor_name).
func ProcessorName() (string, error) { return os.Hostname() }

// Version returns the version of the MPI standard whose text the calls follow
// (MPI_Get_version); docs/mpi.md tells what of it is missing.
func Version() (major, minor int) { return 4, 0 }

// LibraryVersion describes this library in a line (MPI_Get_library_version).
func LibraryVersion() string {
	version := "(devel)"
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(b.Deps, &b.Main) {
			if m.Path == modulePath && m.Version != "" {
				version = m.Version
			}
		}
	}
	return fmt.Sprintf("Exanet MPI %s, %s, %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

const modulePath = "github.com/exanet-mpi/exanet"

// AbortError is the error of Run if a rank has called Comm.Abort.
type AbortError struct {
	Rank int // in the communicator
	Code int
}

func (e *AbortError) Error() string {
	return fmt.Sprintf("rank %d called Abort with code %d", e.Rank, e.Code)
}

// Abort ends the job (MPI_Abort): in a process that the launcher has started, and with it all others.
// The launcher's exit code is code, or 1 if that is no exit code of a failure. In a rank of Run it
// panics with an *AbortError, which Run returns if the goroutine is the rank's own; the panic of
// another goroutine ends the process. Abort does not return.
func (c *Comm) Abort(code int) {
	e := &AbortError{Rank: noValue, Code: code}
	if c != nil && c.rank != nil {
		e.Rank = c.Rank()
	}
	if c != nil && c.rank != nil && !Initialized() {
		panic(e)
	}
	fmt.Fprintln(os.Stderr, "exanet:", e)
	if code <= 0 || code > 255 {
		code = 1
	}
	abortLauncher(code)
	os.Exit(code)
}
