package launch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/exanet-mpi/exanet/emu/net"
	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/internal/env"
)

// The file descriptors that a rank inherits besides the standard ones.
const (
	jobFD     = 3
	controlFD = 4
	pagesFD   = 5 // only if there is a software device
)

// Values of EXANET_DEVICE: the launcher runs the software device itself, or tells the ranks where they meet. So it does
// as well if a path comes behind the first, and a colon.
const (
	registersDevice = "registers"
	networkDevice   = "network"
)

// setEnvironment makes what the ranks' environments have in common. Of several
// values of a variable the last one counts, and what a surrounding job may have
// set is dropped: programs would see the first.
func (j *Job) setEnvironment() error {
	at := make(map[string]int)
	var vars []string
	for _, kv := range j.cfg.Env {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case env.Rank, env.Size, env.Job, env.Control, env.Registers, env.Meet:
			continue
		}
		if i, ok := at[name]; ok {
			vars[i] = kv
			continue
		}
		at[name] = len(vars)
		vars = append(vars, kv)
	}
	j.env = append(vars,
		env.Size+"="+strconv.Itoa(j.cfg.Size),
		env.Job+"="+strconv.Itoa(jobFD),
		env.Control+"="+strconv.Itoa(controlFD))
	valueOf := func(name string) string {
		if i, ok := at[name]; ok {
			return strings.TrimPrefix(vars[i], name+"=")
		}
		return ""
	}
	device := valueOf(env.Device)
	if device == networkDevice {
		if err := net.CheckNetworks(valueOf(env.Network)); err != nil {
			return &StartError{What: j.what(), Err: err, code: codeSetting}
		}
	}
	switch {
	case device == registersDevice:
		j.env = append(j.env, env.Registers+"="+strconv.Itoa(pagesFD))
		j.registers = true
	case (device == networkDevice || strings.HasPrefix(device, registersDevice+":")) && j.cfg.Meet == "":
		place, err := net.NewPlace(net.NewSecret(), j.cfg.Size, func(n int64) { j.say(nil, "exanet: "+refused(n)) })
		if err != nil {
			return j.startError(0, err)
		}
		j.place, j.cfg.Meet = place, place.Meet()
	}
	if j.cfg.Meet != "" {
		j.env = append(j.env, env.Meet+"="+j.cfg.Meet)
	}
	return nil
}

// startDevice runs the software device, if the ranks are to use it. Each has a
// page of each block on its node, with the job's protection ID.
func (j *Job) startDevice() (err error) {
	nodes := max(j.cfg.Nodes, 1)
	switch {
	case !j.registers && j.cfg.Nodes == 0:
		return nil
	case !j.registers:
		err = errors.New("only the device registers has nodes")
	case j.cfg.Nodes < 0 || nodes > min(j.cfg.Ranks, regs.MostNodes):
		err = fmt.Errorf("%d nodes: want 1 to %d, since each has a rank and there are %d node IDs", j.cfg.Nodes,
			min(j.cfg.Ranks, regs.MostNodes), regs.MostNodes)
	default:
		interfaces := make([]int, nodes)
		for rank := range j.cfg.Ranks {
			interfaces[j.node(rank)]++
		}
		j.device, err = newDevice(interfaces)
	}
	if err != nil {
		return &StartError{What: j.what(), Err: err, code: codeLimit}
	}
	return nil
}

// node is the node of a rank: nodes have blocks of consecutive ranks, whose lengths differ by one at most.
func (j *Job) node(rank int) int { return rank * max(j.cfg.Nodes, 1) / j.cfg.Ranks }
