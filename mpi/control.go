package mpi

import (
	"fmt"
	"os"
)

// askWaiting is the byte by which the launcher asks a rank what it waits for.
const askWaiting = 'w'

// listen serves the connection to the launcher, if there is one. When the
// launcher is gone, so is the job: the process ends.
func (k *rank) listen() error {
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
				k.tell()
			}
			if err != nil || n == 0 {
				fmt.Fprintf(os.Stderr, "exanet: rank %d: the launcher is gone, ending\n", k.fab.Rank())
				os.Exit(1)
			}
		}
	}()
	return nil
}

// tell prints what the rank waits for.
func (k *rank) tell() {
	k.mu.Lock()
	defer k.mu.Unlock()
	none := true
	k.proto.Waiting(func(line string) {
		none = false
		fmt.Fprintf(os.Stderr, "exanet: rank %d: %s\n", k.fab.Rank(), line)
	})
	if none {
		fmt.Fprintf(os.Stderr, "exanet: rank %d: waits for nothing\n", k.fab.Rank())
	}
}
