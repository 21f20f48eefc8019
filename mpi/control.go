package mpi

import (
	"fmt"
	"os"
	"sync/atomic"
)

// askWaiting is the byte by which the launcher asks a rank what it waits for.
const askWaiting = 'w'

// mostLines bounds what a rank says at a time.
const mostLines = 20

// told is the rank of this process that answers, once there is one.
var told atomic.Pointer[rank]

// listen serves the connection to the launcher, if there is one. When the
// launcher is gone, so is the job: the process ends.
func listen(number int) error {
	if _, ok := os.LookupEnv(envControl); !ok {
		return nil
	}
	f, err := inherited(envControl)
	if err != nil {
		return err
	}
	go func() {
		var b [1]byte
		for {
			n, err := f.Read(b[:])
			if n == 1 && b[0] == askWaiting {
				tell(number, told.Load())
			}
			if err != nil || n == 0 {
				fmt.Fprintf(os.Stderr, "exanet: rank %d: the launcher is gone, ending\n", number)
				os.Exit(1)
			}
		}
	}()
	return nil
}

// tell prints what a rank waits for.
func tell(number int, k *rank) {
	say := func(line string) { fmt.Fprintf(os.Stderr, "exanet: rank %d: %s\n", number, line) }
	if k == nil {
		say("in Init, waits for the other ranks to call it")
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	tellOne := func(line string) {
		if n++; n <= mostLines {
			say(line)
		}
	}
	for p := k.probes; p != nil; p = p.next {
		tellOne(p.String())
	}
	k.proto.Waiting(tellOne)
	switch {
	case n == 0:
		say("waits for nothing")
	case n > mostLines:
		say(fmt.Sprintf("and %d more", n-mostLines))
	}
}
