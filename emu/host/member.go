package host

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"runtime"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Errors that JobError wraps.
var (
	ErrRanks   = fmt.Errorf("a job on one host has 1 to %d ranks", MaxRanks)
	ErrSegment = errors.New("not a job segment: was the program started by a launcher of another version?")
	ErrProfile = errors.New("ranks disagree")
	ErrTaken   = errors.New("this rank has already joined: MPI must be initialised once a process, by one process a " +
		"rank")
)

// Member is one rank's place in a job: how it is woken, who has died, and what
// the ranks must agree on.
type Member struct {
	job        *Job
	me         int
	self       *control
	class      // how many share cores with this rank, see affinity.go
	deathsSeen uint32
	cookie     []uint64 // in memory that does not move, for the probe of others

	watched  mem.Words // see Watch
	watching bool
}

// Join takes a rank's place in the job whose segment is f. profile is a short
// text that all ranks must agree on, see WaitJoined.
func Join(f *os.File, rank int, profile string) (*Member, error) {
	j, err := open(f, 0)
	if err != nil {
		return nil, err
	}
	m, err := j.join(rank, profile)
	if err != nil {
		_ = sys.Unmap(j.mapped)
	}
	return m, err
}

// JoinLocal takes a rank's place in a job made by NewLocalJob.
func (j *Job) JoinLocal(rank int) (*Member, error) { return j.join(rank, "") }

func (j *Job) join(rank int, profile string) (*Member, error) {
	if rank < 0 || rank >= j.ranks {
		return nil, &JobError{Ranks: j.ranks, Err: fmt.Errorf("there is no rank %d: %w", rank, ErrSegment)}
	}
	m := &Member{job: j, me: rank, self: j.control(rank), cookie: newCookie()}
	m.occupancy = yielding // until all have joined
	m.sharers, m.cores = j.here(), runtime.NumCPU()
	if j.localRings != nil && m.sharers <= m.cores {
		m.occupancy = dedicated
	}
	if !m.self.state.CompareAndSwap(stateAbsent, stateJoining) {
		return nil, &JobError{Ranks: j.ranks, Err: fmt.Errorf("rank %d: %w", rank, ErrTaken)}
	}
	if j.localRings == nil {
		if !sys.RegisterBarrier() {
			j.head.fence.Store(1)
		}
		m.announce()
		m.self.publishAffinity()
		j.populate(rank)
	}
	m.self.setProfile(profile)
	m.self.state.CompareAndSwap(stateJoining, stateAttached) // unless it has been marked dead
	if int(j.head.joined.Add(1)) == j.ranks {
		if j.localRings == nil {
			j.assess()
		}
		j.openGate()
	}
	return m, nil
}

// Rank is this rank's number.
func (m *Member) Rank() int { return m.me }

// Size is the number of ranks of the job.
func (m *Member) Size() int { return m.job.ranks }

// Deaths returns how many ranks have died; it changes with each death.
func (m *Member) Deaths() uint32 { return m.job.head.deaths.Load() }

// Dead reports whether a rank has died.
func (m *Member) Dead(rank int) bool { return m.job.Dead(rank) }

// SawDeaths makes Spin and Sleep wait again after n deaths have been dealt with.
func (m *Member) SawDeaths(n uint32) {
	m.deathsSeen = n
	for i := range m.job.ranks {
		if !m.Here(i) && m.Dead(i) {
			m.Miss()
		}
	}
}

// Finalize marks this rank as having left in good order.
func (m *Member) Finalize() { m.self.state.CompareAndSwap(stateAttached, stateFinalized) }

// Lose marks another rank as dead, one that is not on this host, and this one as knowing of it. The reason is a number
// whose meaning the caller knows, or 0.
func (m *Member) Lose(rank int, reason uint32) {
	m.Miss()
	m.job.head.lost.CompareAndSwap(0, uint32(rank)+1)
	m.job.control(rank).reason.CompareAndSwap(0, reason) // whoever sees the death finds it
	m.job.MarkDead(rank)
}

// Reason is the first that a rank of this host has given to Lose for a rank, 0 if there is none.
func (m *Member) Reason(rank int) uint32 { return m.job.control(rank).reason.Load() }

// Miss marks this rank as knowing that some rank of another host is not there.
func (m *Member) Miss() { m.self.lostPeer.Store(1) }

// Fail marks this rank as dead, for ranks of one process.
func (m *Member) Fail() { m.job.MarkDead(m.me) }

// WaitJoined waits until every rank has joined. It returns an error if one
// dies before that, or has another profile than this one.
func (m *Member) WaitJoined() error {
	for m.job.head.gate.Load() == 0 {
		sys.FutexWait(&m.job.head.gate, 0)
	}
	mine := m.self.profileText()
	for i := range m.job.ranks {
		if !m.job.Attached(i) {
			return fmt.Errorf("rank %d has not joined: %w", i, rdmaeng.ErrPeer)
		}
		if theirs := m.job.control(i).profileText(); theirs != mine && !m.job.Dead(i) && m.job.Here(i) {
			return &ProfileError{Rank: m.me, Peer: i, Mine: mine, Theirs: theirs}
		}
	}
	if c := m.self.class(); c.cores > 0 { // else who would have told all how they stand has died, or is about to
		m.class = c
	}
	return nil
}

// announce publishes what peers need for cross-memory attach.
func (m *Member) announce() {
	sys.AllowAttach()
	m.self.pid.Store(uint32(os.Getpid()))
	m.self.cookie.Store(m.cookie[0])
	m.self.cookieAddr.Store(mem.Addr(mem.Bytes(m.cookie)))
}

// ProfileError names two ranks that disagree about the profile.
type ProfileError struct {
	Rank, Peer   int
	Mine, Theirs string
}

func (e *ProfileError) Error() string {
	return fmt.Sprintf("rank %d uses %s and rank %d uses %s: give all ranks the same protocol, device and algorithms",
		e.Rank, e.Mine, e.Peer, e.Theirs)
}

// Unwrap returns ErrProfile.
func (e *ProfileError) Unwrap() error { return ErrProfile }

// setProfile stores the text, or, if it is too long, its beginning and a digest of all.
func (c *control) setProfile(text string) {
	words := make([]uint64, len(c.profile))
	if room := 8 * len(words); len(text) > room {
		h := fnv.New32a()
		_, _ = io.WriteString(h, text)
		digest := fmt.Sprintf("... %08x", h.Sum32())
		text = text[:room-len(digest)] + digest
	}
	copy(mem.Bytes(words), text)
	for i, w := range words {
		c.profile[i].Store(w)
	}
}

func (c *control) profileText() string {
	words := make([]uint64, len(c.profile))
	for i := range words {
		words[i] = c.profile[i].Load()
	}
	return string(bytes.TrimRight(mem.Bytes(words), "\x00"))
}
