package host

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/packetizer"
)

// A producer that is stopped or killed between claiming a mailbox slot and
// publishing it must hold up nobody else. The test binary starts itself as such
// a producer, of rank 2; ranks 0 and 1 are in the test process.

const producerSignal = "EXANET_TEST_PRODUCER_SIGNAL"

func TestMain(m *testing.M) {
	if s := os.Getenv(producerSignal); s != "" {
		sig, err := strconv.Atoi(s)
		if err != nil {
			os.Exit(2)
		}
		claimAndStop(unix.Signal(sig))
		os.Exit(0)
	}
	if s := os.Getenv(sharerRole); s != "" {
		stopWithUnits(s)
		os.Exit(0)
	}
	if s := os.Getenv(livingRole); s != "" {
		live(s)
	}
	os.Exit(m.Run())
}

// another is this program as another rank of a job, in a role, to be started.
func another(t *testing.T, j *Job, role, value string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run=^$")
	cmd.Env = append(os.Environ(), role+"="+value)
	cmd.ExtraFiles = []*os.File{j.File()}
	cmd.Stderr = os.Stderr
	return cmd
}

// joinAs takes that rank's place.
func joinAs(rank int) *Member {
	m, err := Join(os.NewFile(3, "job"), rank, "")
	if err != nil {
		os.Exit(3)
	}
	return m
}

// rankOf is the rank that a role tells.
func rankOf(role string) int {
	rank, err := strconv.Atoi(role)
	if err != nil {
		os.Exit(2)
	}
	return rank
}

// claimAndStop sends one whole message to rank 0 and another of which only
// the last step, publishing, is missing when the signal arrives.
func claimAndStop(sig unix.Signal) {
	f := NewFabric(joinAs(2), 0)
	f.TrySend(0, packetizer.Header{7 << 32}, []byte("whole"))
	g := &f.job.geo
	r := f.job.ringOf(2, 0)
	c, _ := r.room(g, true, 4)
	copy(c.payload[:], "half")
	stopHere(int(sig))
	r.publish(g, c, 8<<32, 4, true) // after SIGCONT
}

func receiveWithin(t *testing.T, f *Fabric, what string) (packetizer.Header, string) {
	t.Helper()
	for range 10_000 {
		if h, p, ok := f.Next(); ok {
			s := string(p)
			f.Release()
			return h, s
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%s has not arrived within 10 s", what)
	return packetizer.Header{}, ""
}

func TestAProducerStoppedBeforePublishing(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			j, err := NewJob(3)
			require.NoError(t, err)
			m0, err := j.join(0, "")
			require.NoError(t, err)
			m1, err := j.join(1, "")
			require.NoError(t, err)
			f0, f1 := NewFabric(m0, 0), NewFabric(m1, 0)
			cmd := another(t, j, producerSignal, strconv.Itoa(int(sig)))
			require.NoError(t, cmd.Start())
			defer func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}()

			_, s := receiveWithin(t, f0, "the whole message")
			require.Equal(t, "whole", s)
			var info unix.Siginfo
			// WNOWAIT leaves a killed process for the deferred Wait.
			require.NoError(t, unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT,
				nil))

			// Rank 1's messages pass rank 2's unpublished one, for many laps.
			for i := range 20 * sharedCells {
				require.True(t, f1.TrySend(0, packetizer.Header{uint64(i) << 32}, []byte("goes on")))
				h, s := receiveWithin(t, f0, "rank 1's message")
				require.Equal(t, uint64(i), h[0]>>32)
				require.Equal(t, "goes on", s)
			}

			if sig == unix.SIGSTOP {
				require.NoError(t, cmd.Process.Signal(unix.SIGCONT))
				h, s := receiveWithin(t, f0, "the message published after SIGCONT")
				require.Equal(t, uint64(8), h[0]>>32)
				require.Equal(t, "half", s)
				return
			}
			mark := f0.Mark()
			j.MarkDead(2)
			require.True(t, f0.Spin(mark), "a death must end a wait")
			require.Equal(t, uint32(1), f0.Deaths())
			require.True(t, f0.Dead(2))
			_, _, ok := f0.Next()
			require.False(t, ok, "an unpublished message must never be seen")
		})
	}
}

// A rank asleep is woken by a message, by a death, and by its own process.
func TestASleeperIsWoken(t *testing.T) {
	for name, wake := range map[string]func(f []*Fabric){
		"message": func(f []*Fabric) { f[1].TrySend(0, packetizer.Header{}, nil) },
		"death":   func(f []*Fabric) { f[1].Fail() },
		"self":    func(f []*Fabric) { f[0].WakeForeground() },
	} {
		for _, shared := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				fabs := attachAll(t, 2)
				if shared {
					_, both := joined(t)
					fabs = both[:]
				}
				for range 200 {
					mark := fabs[0].Mark()
					slept := make(chan struct{})
					go func() {
						fabs[0].Sleep(mark)
						close(slept)
					}()
					wake(fabs)
					select {
					case <-slept:
					case <-time.After(time.Minute):
						t.Fatal("it sleeps on")
					}
					if name == "death" {
						return
					}
					for {
						if _, _, ok := fabs[0].Next(); !ok {
							break
						}
						fabs[0].Release()
					}
				}
			})
		}
	}
}
