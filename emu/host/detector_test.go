package host

import (
	"bufio"
	"fmt"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const livingRole = "EXANET_TEST_LIVING" // the rank of a process that only lives

func live(role string) {
	joinAs(rankOf(role)).DetectFailures(time.Hour)
	fmt.Println("lives")
	select {}
}

// watchedJob is a job of which this process is rank 0, and others, which leave the watching to it, are the rest.
func watchedJob(t *testing.T, ranks int) (me *Member, others []*exec.Cmd) {
	j, err := NewJob(ranks)
	require.NoError(t, err)
	t.Cleanup(func() { _ = j.file.Close() }) // mapped for as long as somebody watches
	me, err = j.join(0, "")
	require.NoError(t, err)
	others = make([]*exec.Cmd, ranks)
	for rank := 1; rank < ranks; rank++ {
		cmd := another(t, j, livingRole, strconv.Itoa(rank))
		says, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { end(cmd) })
		line, err := bufio.NewReader(says).ReadString('\n')
		require.Equal(t, "lives\n", line, "%v", err)
		others[rank] = cmd
	}
	require.NoError(t, me.WaitJoined())
	return me, others
}

func end(c *exec.Cmd) {
	_ = c.Process.Kill()
	_ = c.Wait()
}

// Who sleeps learns of each death: of the next rank's at once, of those behind that when it is gone. A rank that has
// left the job is none of them.
func TestVigil(t *testing.T) {
	m, others := watchedJob(t, 5)
	j := m.job
	told := func(ranks ...int) {
		mark := m.self.foreground.Load()
		end(others[ranks[0]])
		for _, rank := range ranks {
			require.Eventually(t, func() bool { return j.Dead(rank) }, time.Minute, time.Millisecond)
		}
		require.Eventually(t, func() bool { return m.self.foreground.Load() != mark }, time.Minute, time.Millisecond,
			"it is rung for")
	}
	m.DetectFailures(0)
	j.control(2).state.Store(stateFinalized)
	end(others[2])
	end(others[3])
	time.Sleep(10 * time.Millisecond)
	require.Zero(t, m.Deaths(), "rank 1 watches those")
	told(1, 3)
	told(4)
	require.EqualValues(t, 3, m.Deaths())
	require.True(t, j.Finalized(2))
}

// A launcher that ends this process within the delay is not forestalled, whether a rank had died before; for ranks that
// have died together there is one.
func TestVigilHasPatience(t *testing.T) {
	m, others := watchedJob(t, 5)
	const delay = 2 * time.Second
	end(others[1])
	began := time.Now()
	m.DetectFailures(delay)
	for _, deaths := range []uint32{1, 4} {
		// A delay for each of three would take three of them.
		require.Eventually(t, func() bool { return m.Deaths() == deaths }, 3*delay-time.Millisecond, time.Millisecond)
		require.GreaterOrEqual(t, time.Since(began), delay)
		began = time.Now()
		for _, o := range others[2:] {
			end(o)
		}
	}
}

// Why a rank of another host is dead is known to all ranks of this one, as the first of them has it, and which was the
// first to the launcher.
func TestReasonOfADeathElsewhere(t *testing.T) {
	j := NewLocalJob(4)
	j.Elsewhere(2)
	j.Elsewhere(3)
	var here [2]*Member
	for i := range here {
		var err error
		here[i], err = j.JoinLocal(i)
		require.NoError(t, err)
	}
	require.Zero(t, here[1].Reason(2))
	require.Equal(t, -1, j.FirstLost())
	here[0].Lose(3, 7)
	here[1].Lose(3, 8)
	here[1].Lose(2, 8)
	require.Equal(t, 3, j.FirstLost())
	for _, m := range here {
		require.True(t, m.Dead(3))
		require.EqualValues(t, 7, m.Reason(3))
		require.Zero(t, m.Reason(0))
	}
}
