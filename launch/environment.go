package launch

import (
	"strconv"
	"strings"

	"github.com/exanet-mpi/exanet/emu/regs"
)

// What a rank learns from its environment.
const (
	envRank    = "EXANET_RANK"
	envSize    = "EXANET_SIZE"
	envJob     = "EXANET_JOB"       // file descriptor of the job segment
	envControl = "EXANET_CONTROL"   // file descriptor of the control socket
	envPages   = "EXANET_REGISTERS" // file descriptor of the software device's pages
)

// The file descriptors that a rank inherits besides the standard ones.
const (
	jobFD     = 3
	controlFD = 4
	pagesFD   = 5 // only if there is a software device
)

// envDevice names the device; the launcher runs registersDevice itself.
const (
	envDevice       = "EXANET_DEVICE"
	registersDevice = "registers"
)

// setEnvironment makes what the ranks' environments have in common. Of several
// values of a variable the last one counts, and what a surrounding job may have
// set is dropped: programs would see the first.
func (j *Job) setEnvironment() {
	at := make(map[string]int)
	var env []string
	for _, kv := range j.cfg.Env {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case envRank, envSize, envJob, envControl, envPages:
			continue
		}
		if i, ok := at[name]; ok {
			env[i] = kv
			continue
		}
		at[name] = len(env)
		env = append(env, kv)
	}
	j.env = append(env,
		envSize+"="+strconv.Itoa(j.cfg.Ranks),
		envJob+"="+strconv.Itoa(jobFD),
		envControl+"="+strconv.Itoa(controlFD))
	if i, ok := at[envDevice]; ok && env[i] == envDevice+"="+registersDevice {
		j.env = append(j.env, envPages+"="+strconv.Itoa(pagesFD))
		j.registers = true
	}
}

// startDevice runs the software device, if the ranks are to use it: a page of
// each block for every rank, all in one protection group.
func (j *Job) startDevice() (err error) {
	if !j.registers {
		return nil
	}
	pdids := make([]uint32, j.cfg.Ranks)
	for i := range pdids {
		pdids[i] = 1
	}
	if j.device, err = regs.New(regs.Config{PDIDs: pdids}); err != nil {
		return &StartError{What: j.what(), Err: err, code: codeLimit}
	}
	return nil
}
