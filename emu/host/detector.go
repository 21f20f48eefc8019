package host

import "time"

// A launcher of ours tells the ranks who has died. Under another's nobody may: it may have
// been told to let the others live, or have been killed itself. So there the ranks watch each
// other, in a ring: each the next one that is still there, in a thread that sleeps until the kernel
// says that the other has ended (sys.Life). Who has watched one to its end takes over what that one
// watched, so deaths are told as long as a rank lives.

// DetectFailures makes this rank tell the others of the next one's death, and them of its own, from the moment on when
// all have joined. It waits for the delay first, in which the launcher may end this process: its words come first, as
// where a rank calls for the end of all. It lasts as long as the process, so that the last to leave are watched as
// well. Nobody is where the kernel refuses robust futexes.
func (m *Member) DetectFailures(delay time.Duration) {
	m.self.life.Live(func() { m.watch(delay) })
}

// threadsTake is what all threads of a process may take to end when one has.
const threadsTake = 100 * time.Millisecond

func (m *Member) watch(first time.Duration) {
	delay := first
	for i := 1; i < m.job.ranks; i++ {
		rank := (m.me + i) % m.job.ranks
		c := m.job.control(rank)
		waited, known := c.life.WaitForExit()
		if !known || c.state.Load() != stateAttached {
			continue
		}
		if waited {
			delay = first
		}
		time.Sleep(delay)
		m.job.MarkDead(rank)
		delay = min(first, threadsTake) // for those that have died meanwhile
	}
}
