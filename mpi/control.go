package mpi

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/exanet-mpi/exanet/internal/env"
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
	f, err := inherited(env.Control)
	if err != nil {
		return err
	}
	go func() {
		var b [1]byte
		for {
			n, err := f.Read(b[:])
			if n == 1 && b[0] == askWaiting {
				// A launcher that is gone shows at the next read.
				_, _ = f.WriteString(waiting(told.Load()) + "\x00")
			}
			if err != nil || n == 0 {
				fmt.Fprintf(os.Stderr, "exanet: rank %d: the launcher is gone, ending\n", number)
				os.Exit(1)
			}
		}
	}()
	return nil
}

// waiting says what a rank waits for, in lines.
func waiting(k *rank) string {
	if k == nil {
		return "in Init, waits for the other ranks to call it"
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var lines []string
	n := 0
	tellOne := func(line string) {
		if n++; n <= mostLines {
			lines = append(lines, line)
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
	case n == 0:
		return "waits for nothing"
	case n > mostLines:
		lines = append(lines, fmt.Sprintf("and %d more", n-mostLines))
	}
	return strings.Join(lines, "\n")
}
