package randprog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/launch"
	"github.com/exanet-mpi/exanet/mpi"
)

// What this test binary does when a test runs it again. Each role runs the
// next: a confined process, the launcher, the ranks.
const (
	roleVar  = "EXANET_TEST_ROLE"
	confined = "confined" // installs a filter first
	launcher = "launcher" // RANKS FIRST PROGRAMS HANG PLAY
	spread   = "spread"   // the same on hosts: by shellVar on node0 and so on, else on two that are both this one
	partRole = "part"     // the launcher of one of them
	rankRole = "rank"     // FIRST PROGRAMS HANG PLAY

	shellVar = "EXANET_TEST_SHELL" // a remote shell to three hosts
	nodesVar = "EXANET_TEST_NODES" // how many the device registers has, if there are as many ranks
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case confined:
		fmt.Fprintln(os.Stderr, "cannot confine:", confine())
		os.Exit(4)
	case launcher:
		os.Exit(launcherMain(os.Args[1:]))
	case spread:
		os.Exit(spreadMain(os.Args[1:]))
	case partRole:
		os.Exit(told(launch.RunPart(context.Background(), os.Stdin, os.Stdout, os.Stderr)))
	case rankRole:
		os.Exit(rankMain(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// launcherMain runs a job of RANKS.
func launcherMain(args []string) int {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		panic(err)
	}
	if err := os.Setenv(roleVar, rankRole); err != nil {
		panic(err)
	}
	nodes, _ := strconv.Atoi(os.Getenv(nodesVar)) // 0: there are none
	j, err := launch.Start(context.Background(), launch.Config{
		Ranks: n, Nodes: min(n, nodes), Prog: "/proc/self/exe", Args: args[1:], Stdout: os.Stdout, Stderr: os.Stderr,
	})
	if err == nil {
		err = j.Wait()
	}
	return told(err)
}

// spreadMain runs a job of RANKS, of which each host has as many as the others, or one less.
func spreadMain(args []string) int {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		panic(err)
	}
	env := append(os.Environ(), roleVar+"="+rankRole)
	exe, err := os.Executable()
	if err == nil {
		err = os.Setenv(roleVar, partRole)
	}
	if err != nil {
		panic(err)
	}
	hosts, shell := []string{"a", "b"}, `shift; exec sh -c "$*"`
	if s := os.Getenv(shellVar); s != "" {
		hosts, shell = []string{"node0", "node1", "node2"}, s
	}
	var list []launch.HostRanks
	for i, h := range hosts {
		list = append(list, launch.HostRanks{Host: h, Ranks: (n + len(hosts) - 1 - i) / len(hosts)})
	}
	return told(launch.RunHosts(context.Background(), launch.Config{
		Prog: exe, Args: args[1:], Env: env, Stdout: os.Stdout, Stderr: os.Stderr,
	}, launch.Hosts{List: list, Shell: []string{"sh", "-c", shell, "sh"}, Exanet: exe}))
}

// told is the exit code for an error, which it prints.
func told(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// report is what a rank process prints at its end, as a line of JSON.
type report struct {
	Tally    Tally
	Counters map[string]uint64
}

// rankMain plays PROGRAMS programs of a play from seed FIRST on.
func rankMain(args []string) int {
	first, err1 := strconv.ParseUint(args[0], 10, 64)
	programs, err2 := strconv.Atoi(args[1])
	limit, err3 := time.ParseDuration(args[2])
	if err := errors.Join(err1, err2, err3); err != nil {
		panic(err)
	}
	play := playNamed(args[3])
	world, err := mpi.Init(play.options()...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	var list []*Program
	for i := range uint64(programs) {
		list = append(list, Generate(first+i, world.Size(), play.rules()))
	}
	watch := NewWatch(limit, 1, func(text string) {
		fmt.Fprintf(os.Stderr, "rank %d: %s\n", world.Rank(), text)
		time.Sleep(limit / 2) // the others report as well
		os.Exit(3)
	})
	tally, failure := Play(worldOf(world), list, watch)
	watch.Stop()
	line, err := json.Marshal(report{tally, world.Counters()})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
	if err := errors.Join(failure, mpi.Finalize()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// jobs are jobs of 2 to 6 processes in turn, in a role, with variables added to
// the environment.
type jobs struct {
	role     string
	enter    []string // the command that runs the launcher, if it is not to run here
	env      []string
	number   int
	programs int // that each plays in one world, so that one meets what another has left behind
}

// run runs the jobs for a play and returns what MPI counted.
func (j jobs) run(t *testing.T, p *play) map[string]uint64 {
	t.Helper()
	if underRace {
		j.number, j.programs = maxRanks-1, j.programs/4
	}
	if *programsFlag > 0 {
		j.number, j.programs = (*programsFlag+j.programs-1)/j.programs, min(j.programs, *programsFlag)
	}
	var total Tally
	var c counters
	for i := range j.number {
		j.job(t, p, 2+i%(maxRanks-1), *firstFlag+uint64(i*j.programs), &total, &c)
	}
	t.Logf("%+v", total)
	t.Logf("%v", c.n)
	return c.n
}

// job runs a job of n processes and adds up what its ranks report.
func (j jobs) job(t *testing.T, p *play, n int, first uint64, total *Tally, c *counters) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	words := append(slices.Clone(j.enter), exe, strconv.Itoa(n), strconv.FormatUint(first, 10),
		strconv.Itoa(j.programs), hangFlag.String(), p.name)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = append(append(os.Environ(), roleVar+"="+j.role), j.env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	require.NoError(t, err, "%d ranks, seeds from %d:\n%s", n, first, &errs)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, n)
	for _, line := range lines {
		var r report
		require.NoError(t, json.Unmarshal([]byte(line), &r), line)
		total.Add(r.Tally)
		c.add(r.Counters)
	}
}

// playsOfProcesses are all plays that leave the device to the environment; under the race detector, which does not see
// what processes share, that of the default protocol.
func playsOfProcesses() []play {
	if underRace {
		return []play{*playNamed(mpi.DefaultVariant)}
	}
	return slices.DeleteFunc(slices.Clone(plays), func(p play) bool { return p.device != "" })
}

// Programs of processes. Tests of jobs run beside each other, since jobs wait more than they compute.
func TestProcesses(t *testing.T) {
	t.Parallel()
	for _, p := range playsOfProcesses() {
		t.Run(p.name, func(t *testing.T) {
			if p.name != mpi.DefaultVariant {
				n := jobs{launcher, nil, nil, 5, 16}.run(t, &p)
				require.NotZero(t, n["writes"])
				return
			}
			n := jobs{launcher, nil, nil, 15, 320}.run(t, &p) // a cancel that is refused takes a race
			if !underRace && *programsFlag == 0 {
				p.requireCoverage(t, n, 100)
			}
		})
	}
}

// Processes that may not write into each other's memory.
func TestProcessesWithoutAttach(t *testing.T) {
	t.Parallel()
	for _, p := range playsOfProcesses() {
		t.Run(p.name, func(t *testing.T) {
			j := jobs{confined, nil, nil, 5, 12}
			if p.name == mpi.DefaultVariant {
				j = jobs{confined, nil, nil, 5, 60}
			}
			require.NotZero(t, j.run(t, &p)["writes"])
		})
	}
}

// Messages of at most 64 bytes, as on the prototype.
func TestProcessesPrototypeMessages(t *testing.T) {
	t.Parallel()
	for _, p := range playsOfProcesses() {
		t.Run(p.name, func(t *testing.T) {
			j := jobs{launcher, nil, []string{"EXANET_DEVICE=prototype"}, 5, 12}
			if p.name == mpi.DefaultVariant {
				j.programs = 60
			}
			require.NotZero(t, j.run(t, &p)["writes"])
		})
	}
}

// Ranks of two hosts, and of one host that share no memory.
func TestProcessesNetwork(t *testing.T) {
	t.Parallel()
	for _, role := range []string{spread, launcher} {
		for _, p := range playsOfProcesses() {
			programs := 3
			if p.name == mpi.DefaultVariant {
				programs = 12
			} else if role == launcher {
				continue
			}
			t.Run(role+" "+p.name, func(t *testing.T) {
				j := jobs{role, nil, []string{"EXANET_DEVICE=network"}, 5, programs}
				require.NotZero(t, j.run(t, &p)["writes"])
			})
		}
	}
}

// The registers of two nodes that reach pinned memory only, and are not coherent with the ranks' caches.
func TestProcessesPinned(t *testing.T) {
	t.Parallel()
	var cfg regs.Config
	for id := range uint8(2) {
		cfg.Nodes = append(cfg.Nodes, regs.Node{ID: id, PDIDs: []uint32{6, 6, 6}, Window: 64 << 20, Incoherent: true})
	}
	d, err := regs.New(cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	for _, p := range playsOfProcesses() {
		t.Run(p.name, func(t *testing.T) {
			j := jobs{launcher, nil, []string{"EXANET_DEVICE=registers:" + d.Path(0) + "," + d.Path(1)}, 5, 4}
			if p.name == mpi.DefaultVariant {
				j.programs = 20
			}
			require.NotZero(t, j.run(t, &p)["writes"])
		})
	}
}

// The prototype's register pages, as software, of a machine of 4 nodes: the ranks
// of a node, and those of different ones. These are 1,000 programs.
func TestProcessesRegisters(t *testing.T) {
	t.Parallel()
	for _, p := range playsOfProcesses() {
		t.Run(p.name, func(t *testing.T) {
			j := jobs{launcher, nil, []string{"EXANET_DEVICE=registers", nodesVar + "=4"}, 5, 15}
			if p.name == mpi.DefaultVariant {
				j.programs = 65
			}
			require.NotZero(t, j.run(t, &p)["writes"])
		})
	}
}
