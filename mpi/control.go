package mpi

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// askWaiting is the byte by which the launcher asks a rank what it waits for.
// The answer is lines of text, then a zero byte, on the same connection.
const askWaiting = 'w'

// mostLines bounds what a rank says at a time.
const mostLines = 20

// told is the rank of this process that answers, once there is one.
var told atomic.Pointer[rank]

// listen serves the connection to the launcher, if there is one. When the
// launcher is gone, so is the job: the process ends.
func listen(number int) error {
	if _, ok := os.LookupEnv(env.Control); !ok {
		return nil
	}
	f, err := env.File(env.Control)
	if err != nil {
		return err
	}
	go func() {
		answer(f)
		fmt.Fprintf(os.Stderr, "exanet: rank %d: the launcher is gone, ending\n", number)
		os.Exit(1)
	}()
	return nil
}

// answer says what the rank of this process waits for whenever it is asked, until the other side is gone.
func answer(f *os.File) {
	var b [1]byte
	for {
		n, err := f.Read(b[:])
		if n == 1 && b[0] == askWaiting {
			// A launcher that is gone shows at the next read.
			_, _ = f.WriteString(waiting(told.Load()) + "\x00")
		}
		if err != nil || n == 0 {
			return
		}
	}
}

// reachable lets exanet preload ask this rank of another launcher's job, if it wants to. Then the rank's
// number goes first, as a byte string that a zero byte ends. Without the other side the job goes on.
func reachable(number int) {
	name := os.Getenv(env.Watch)
	if name == "" {
		return
	}
	fd, err := sys.Connect(name)
	if err != nil {
		return
	}
	_ = unix.SetNonblock(fd, true) // so that the runtime polls it
	f := os.NewFile(uintptr(fd), env.Watch)
	go func() {
		defer f.Close()
		if _, err := f.WriteString(itoa(number) + "\x00"); err == nil {
			answer(f)
		}
	}()
}

// waiting says what a rank waits for, in lines.
func waiting(k *rank) string {
	if k == nil {
		return "in Init, waits for the other ranks to call it"
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	where := ""
	if k.ending {
		where = "has called Finalize: "
	}
	var lines []string
	n := 0
	tellOne := func(line string) {
		if n++; n <= mostLines {
			lines = append(lines, where+line)
		}
	}
	for p := k.probes; p != nil; p = p.next {
		tellOne(p.String())
	}
	for x := k.sharing; x != nil; x = x.next {
		tellOne(x.waits())
	}
	k.proto.Waiting(tellOne)
	switch {
	case n == 0 && k.Outside.Busy != nil: // nothing tells of the host's calls
		return where + "waits for nothing here: it computes, or is in a call of the host MPI"
	case n == 0:
		return where + "waits for nothing"
	case n > mostLines:
		lines = append(lines, fmt.Sprintf("and %d more", n-mostLines))
	}
	return strings.Join(lines, "\n")
}
