//go:build linux

package main

import (
	"sync"
	"time"

	"github.com/exanet-mpi/exanet/emu/regs/owners"
	"github.com/exanet-mpi/exanet/internal/mmio"
)

// lookEvery is how soon registers of a process that has ended are free again, at the latest.
const lookEvery = 10 * time.Millisecond

// freer frees the registers of processes that have ended.
type freer struct {
	mu    sync.Mutex
	watch *owners.Watch
}

func watchOwners(device string) (*freer, error) {
	f, err := mmio.Open(device)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file, err := mmio.Map(f, 0, int(st.Size()))
	if err != nil {
		return nil, err
	}
	o := &freer{watch: owners.New(owners.Pages(file))}
	go func() {
		for ; ; time.Sleep(lookEvery) {
			o.look()
		}
	}()
	return o, nil
}

func (o *freer) look() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.watch.Look()
}
