package launch_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/test/netns"
)

// Faults of hosts and of the network between them, on hosts that are network namespaces.

func init() { roles["talk"] = talkRole }

// talkSizes are those of the messages that each rank of talkRole sends to each other one in a round.
var talkSizes = []int{8, 4 << 10, 64 << 10, 1 << 20}

// talkSame is for how many rounds the buffers of talkRole are the same, so that the protocol standing gives some of its
// own, uses them for a while, and asks them back.
const talkSame = 6

// talkRole sends messages to all others and checks what comes from them, for so many rounds. It says when it has begun,
// and whom it has lost.
func talkRole(args []string) int {
	rounds, err := strconv.Atoi(args[0])
	if err != nil {
		panic(err)
	}
	world, err := mpi.Init()
	var all []letter
	for round := 0; err == nil && round < rounds; round++ {
		if round%talkSame == 0 {
			all = letters(world)
		}
		if err = talk(all, round); err == nil && round == talkSame-1 {
			fmt.Printf("rank %d talks, process %d.\n", world.Rank(), os.Getpid())
			if os.Getenv("EXANET_VARIANT") == "standing" && world.Counters()["standing"] == 0 {
				err = errors.New("no buffer stands")
			}
		}
	}
	if err == nil {
		err = mpi.Finalize()
	}
	var call *mpi.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &call) && errors.Is(err, mpi.ErrProcFailed):
		fmt.Printf("rank %d has lost rank %d.\n%v\n", call.Rank, call.Peer, err)
		time.Sleep(time.Second) // the others of this host see by themselves whom they have lost
		return 3
	}
	fmt.Println(unexpected, err)
	return 4
}

// letter is a message to a rank, and one from it.
type letter struct {
	world     *mpi.Comm
	peer, tag int
	out, in   []byte
}

// letters are those between a rank and all others.
func letters(world *mpi.Comm) (all []letter) {
	for peer := range world.Size() {
		for tag, n := range talkSizes {
			if peer != world.Rank() {
				all = append(all, letter{world, peer, tag, make([]byte, n), make([]byte, n)})
			}
		}
	}
	return all
}

// talk exchanges letters once.
func talk(all []letter, round int) error {
	var reqs []*mpi.Request
	for _, m := range all {
		fill(m.out, m.world.Rank(), round+m.tag)
		r, err := mpi.Irecv(m.world, m.in, m.peer, m.tag)
		if err != nil {
			return err
		}
		s, err := mpi.Isend(m.world, m.out, m.peer, m.tag)
		if err != nil {
			return err
		}
		reqs = append(reqs, r, s)
	}
	for range reqs { // the first that fails: others may need ranks that live
		if _, _, err := mpi.WaitAny(reqs...); err != nil {
			return err
		}
	}
	for _, m := range all {
		if i := differs(m.in, m.peer, round+m.tag); i >= 0 {
			return fmt.Errorf("round %d: byte %d of %d from rank %d differs", round, i, len(m.in), m.peer)
		}
	}
	return nil
}

// prepareTalk is a job of talkRole on hosts of a network. The launcher is on the first one.
func prepareTalk(t *testing.T, w *netns.Network, list string, rounds int) *hostsJob {
	t.Helper()
	j := prepareHosts(t, list, "0s", "talk", strconv.Itoa(rounds))
	exe, err := os.Executable()
	require.NoError(t, err)
	old := j.launcher.Cmd
	words := append(append(w.Enter(0), exe), old.Args[1:]...)
	j.launcher.Cmd = exec.Command(words[0], words[1:]...)
	j.Stdout, j.Stderr = old.Stdout, old.Stderr
	j.Env = append(old.Env, shellVar+"="+w.Shell(), patientVar+"=1")
	return j
}

const forEver = 1 << 30

// begun starts a job of so many ranks and waits until all talk.
func (j *hostsJob) begun(t *testing.T, ranks int) {
	t.Helper()
	j.start(t)
	j.await(t, "talks", ranks)
}

// requireLost demands that each of some ranks has lost one of others, and waits until it says so.
func (j *hostsJob) requireLost(t *testing.T, ranks, others string) {
	t.Helper()
	begun := time.Now()
	for _, r := range ranks {
		said := regexp.MustCompile(fmt.Sprintf(`rank %c has lost rank [%s]\.`, r, others))
		eventually(t, func() bool { return said.MatchString(j.out.String()) },
			func() string { return fmt.Sprintf("output %q, errors %q", j.out.String(), j.err.String()) })
	}
	t.Logf("ranks %s have lost %s after %v", ranks, others, time.Since(begun).Round(time.Millisecond))
}

// requireWhy demands that each of some ranks, which have lost others, says why.
func (j *hostsJob) requireWhy(t *testing.T, ranks, why string) {
	t.Helper()
	for _, r := range ranks {
		require.Regexp(t, fmt.Sprintf(`(?m)^mpi: rank %c: .*: process failed: %s$`, r, why), j.out.String())
	}
}

func TestFaultsNone(t *testing.T) {
	w := netns.New(t, 2)
	for _, variant := range mpi.Variants() {
		t.Run(variant, func(t *testing.T) {
			j := prepareTalk(t, w, "node0:2,node1:2", talkSame+1)
			j.Env = append(j.Env, "EXANET_VARIANT="+variant)
			require.Zero(t, j.run(t), j.err.String())
			require.Empty(t, j.err.String())
		})
	}
}

func TestFaultsRankKilled(t *testing.T) {
	w := netns.New(t, 2)
	for _, variant := range mpi.Variants() {
		t.Run(variant, func(t *testing.T) {
			j := prepareTalk(t, w, "node0:2,node1:2", forEver)
			j.Env = append(j.Env, "EXANET_VARIANT="+variant)
			j.begun(t, 4)
			j.losesRank(t)
		})
	}
}

// losesRank kills rank 3 of four.
func (j *hostsJob) losesRank(t *testing.T) {
	t.Helper()
	pid := regexp.MustCompile(`rank 3 talks, process (\d+)`).FindStringSubmatch(j.out.String())
	victim, err := strconv.Atoi(pid[1])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(victim, syscall.SIGKILL))
	j.requireLost(t, "012", "3")
	require.Equal(t, 137, j.over(t), j.err.String())
	j.requireWhy(t, "01", "the connection to rank 3 has ended: see how that rank has ended")
	require.Regexp(t, `^exanet: rank 3 \(pid \d+ on node\d\) .*SIGKILL.*\n$`, j.err.String())
}

func TestFaultsHostKilled(t *testing.T) {
	w := netns.New(t, 2)
	j := prepareTalk(t, w, "node0:2,node1:2", forEver)
	j.begun(t, 4)
	j.losesHost(t, w)
}

// losesHost kills the second of two hosts, and its two ranks with it.
func (j *hostsJob) losesHost(t *testing.T, w *netns.Network) {
	t.Helper()
	w.Kill(t, 1)
	j.requireLost(t, "01", "23")
	require.NotZero(t, j.over(t))
	j.requireWhy(t, "01", "the connection to rank [23] has ended: see how that rank has ended")
	require.Regexp(t, `^exanet: host node1: .*\n$`, j.err.String())
}

// A rank or a host dies at any moment of those in which the protocol standing gives buffers, uses them, or asks them
// back.
func TestFaultsStanding(t *testing.T) {
	w := netns.New(t, 2)
	for i := range 2 * often(10) {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			j := prepareTalk(t, w, "node0:2,node1:2", forEver)
			j.Env = append(j.Env, "EXANET_VARIANT=standing")
			j.begun(t, 4)
			time.Sleep(time.Duration(rand.IntN(30_000)) * time.Microsecond)
			if i%2 == 0 {
				j.losesRank(t)
			} else {
				j.losesHost(t, w)
			}
		})
	}
}

func TestFaultsCutForGood(t *testing.T) {
	w := netns.New(t, 2)
	j := prepareTalk(t, w, "node0:2,node1:2", forEver)
	j.begun(t, 4)
	w.Cut(1, true)
	j.requireLost(t, "01", "23")
	j.requireLost(t, "23", "01")
	require.NotZero(t, j.over(t))
	const why = "nothing has come from the host of rank [%s] for 5s: see whether the network or that host is down"
	j.requireWhy(t, "01", fmt.Sprintf(why, "23"))
	j.requireWhy(t, "23", fmt.Sprintf(why, "01"))
	require.Regexp(t, `^exanet: host node(0: its ranks have lost those of node1|1: its ranks have lost those of node0)`+
		`, which have not failed: see whether the network between them is broken\n$`, j.err.String())
}

// What is on the way when a cable is off for a while comes later.
func TestFaultsCutAndMended(t *testing.T) {
	w := netns.New(t, 2)
	j := prepareTalk(t, w, "node0:2,node1:2", 20)
	j.begun(t, 4)
	w.Cut(1, true)
	time.Sleep(2 * time.Second)
	w.Cut(1, false)
	require.Zero(t, j.over(t), j.err.String())
	require.Empty(t, j.err.String())
	require.NotZero(t, w.Lost())
}

// often is n, or a fifth of that in the short form of the tests.
func often(n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

func TestFaultsLoss(t *testing.T) {
	w := netns.New(t, 2)
	// Few rounds: with some ways of congestion control they take seconds each.
	for percent, rounds := range map[uint32]int{1: often(20), 10: often(5)} {
		t.Run(fmt.Sprintf("%d percent", percent), func(t *testing.T) {
			before := w.Lost()
			w.Lose(percent)
			j := prepareTalk(t, w, "node0:2,node1:2", rounds)
			require.Zero(t, j.run(t), j.err.String())
			require.Empty(t, j.err.String())
			require.NotEqual(t, before, w.Lost())
			t.Logf("%d packets were lost", w.Lost()-before)
		})
	}
}

// A host that is slow to start is waited for.
func TestFaultsSlowStart(t *testing.T) {
	w := netns.New(t, 2)
	j := prepareTalk(t, w, "node0:2,node1", 1)
	j.Env = append(j.Env, shellVar+`=[ "$1" != node1 ] || sleep 2; `+w.Shell())
	require.Zero(t, j.run(t), j.err.String())
	require.Empty(t, j.err.String())
}

// Strangers try the ports at which the launcher and the ranks of one host wait for another one. The job ends well all
// the same; of what was refused there is a line at the end of the meeting, and then there is nobody to connect to.
func TestFaultsStrangers(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 3000
	}
	w := netns.New(t, 2)
	goOn := filepath.Join(t.TempDir(), "go-on")
	j := prepareTalk(t, w, "node0:2,node1", 20)
	j.Env = append(j.Env, shellVar+`=[ "$1" != node1 ] || until [ -e `+goOn+` ]; do sleep 0.1; done; `+w.Shell())
	j.start(t)
	var ports []int
	eventually(t, func() bool {
		ports = w.Listening(t, 0)
		return len(ports) == 3
	}, j.err.String)
	var stay []net.Conn
	defer func() {
		for _, c := range stay {
			_ = c.Close()
		}
	}()
	w.Do(1, func() {
		for i := range n {
			c, err := net.DialTimeout("tcp", netns.Address(0, ports[i%len(ports)]), patience)
			if err != nil {
				t.Errorf("stranger %d: %v", i, err)
				return
			}
			if i%2 == 0 { // it says nothing
				stay = append(stay, c)
				continue
			}
			_, _ = c.Write([]byte(strings.Repeat("garbage ", i%20)))
			_ = c.Close()
		}
	})
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", j.Process.Pid))
	require.NoError(t, err)
	require.Less(t, len(files), 400, "the launcher keeps all that say nothing")
	require.NoError(t, os.WriteFile(goOn, nil, 0o600))
	j.await(t, "talks", 3)
	w.Do(1, func() {
		for _, port := range ports {
			_, err := net.Dial("tcp", netns.Address(0, port))
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
		}
	})
	require.Zero(t, j.over(t), j.err.String())
	lines := regexp.MustCompile(`(?m)^exanet: (\d+ connections of strangers were refused where the ranks meet|`+
		`rank \d has refused \d+ connections of strangers)`).FindAllString(j.err.String(), -1)
	require.Equal(t, strings.Count(j.err.String(), "\n"), len(lines), j.err.String())
	require.Equal(t, 1, strings.Count(j.err.String(), "where the ranks meet"), j.err.String())
	require.LessOrEqual(t, len(lines), 4, "more than one of each")
	t.Log(j.err.String())
}

// A rank that is stopped is not dead, however much is sent to it meanwhile, and however long it takes.
func TestFaultsStoppedRank(t *testing.T) {
	w := netns.New(t, 2)
	j := prepareTalk(t, w, "node0,node1", 200)
	j.Env = append(j.Env, "EXANET_SILENCE=2s")
	j.begun(t, 2)
	pid := regexp.MustCompile(`rank 1 talks, process (\d+)`).FindStringSubmatch(j.out.String())
	stopped, err := strconv.Atoi(pid[1])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(stopped, syscall.SIGSTOP))
	time.Sleep(5 * time.Second)
	require.Equal(t, 2, strings.Count(j.out.String(), "\n"), j.out.String())
	require.NoError(t, syscall.Kill(stopped, syscall.SIGCONT))
	require.Zero(t, j.over(t), j.err.String())
	require.Empty(t, j.err.String())
}
