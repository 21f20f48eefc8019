package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// How long the ranks have after the failure of the first until they get SIGTERM
// and SIGKILL. A failed job is over within two seconds. Tests change it.
var (
	termAfterFailure = 500 * time.Millisecond
	killAfterFailure = 1000 * time.Millisecond
	killAfterSignal  = 2 * time.Second // the user's SIGINT or SIGTERM
)

// A rank that is killed takes no longer to end on a busy machine.
const giveUpAfterKill = 5 * time.Second

// deadlines are what the supervision does next by itself; zero means never.
type deadlines struct {
	timeout, term, kill, giveUp time.Time
}

func (d *deadlines) next() (at time.Time) {
	for _, t := range []time.Time{d.timeout, d.term, d.kill, d.giveUp} {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	return at
}

// notice is a line of the launcher, printed after what a rank had to say.
type notice struct {
	after *rank // may be nil
	line  string
}

// run is the life of a job.
func (j *Job) run(ctx context.Context, path string, started chan<- error) {
	// Ranks die with the thread that forked them.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	j.events.listen()
	j.printing.Go(j.printNotices)
	err := j.startAll(ctx, path)
	if err != nil {
		j.interrupted = true
		j.deadlines.kill = time.Now()
	} else {
		started <- nil
	}

	j.supervise(ctx)
	for _, r := range j.ranks {
		r.signal(syscall.SIGKILL) // what it has left in its group
	}
	for _, r := range j.ranks {
		r.reap()
	}
	j.release()
	j.events.letGo() // a SIGINT may end us: no rank needs us any more
	j.drain()
	j.events.stop()
	switch {
	case err != nil:
		started <- err
	case j.timedOut:
		j.err = &TimeoutError{Timeout: j.cfg.Timeout}
	case ctx.Err() != nil && j.interrupted:
		j.err = fmt.Errorf("job ended early: %w", context.Cause(ctx))
	case j.failure != nil && !j.failure.brokenPipe():
		j.err = j.failure
	default:
		// A rank that SIGPIPE has ended was told so by us.
		if j.err = errors.Join(j.stdout.lost(), j.stderr.lost()); j.err == nil && j.failure != nil {
			j.err = j.failure
		}
	}
	close(j.done)
}

// startAll starts the ranks. After an error some of them may be running.
func (j *Job) startAll(ctx context.Context, path string) (err error) {
	if err := checkLimits(j.cfg.Ranks); err != nil {
		return err
	}
	if j.segment, err = host.NewJob(j.cfg.Size); err != nil {
		return j.startError(0, err)
	}
	for rank := range j.cfg.Size {
		if rank < j.cfg.First || rank >= j.cfg.First+j.cfg.Ranks {
			j.segment.Elsewhere(rank)
		}
	}
	if err := j.setEnvironment(); err != nil {
		return err
	}
	if err := j.startDevice(); err != nil {
		return err
	}
	if j.cfg.First > 0 {
		j.cfg.Stdin = nil
	}
	input, feed, err := openInput(j.cfg.Stdin)
	if err != nil {
		return j.inputError(err)
	}
	defer input.Close()
	j.feed = feed
	empty, err := os.Open(os.DevNull)
	if err != nil {
		return j.inputError(err)
	}
	defer empty.Close()

	for i := range j.cfg.Ranks {
		number, stdin := j.cfg.First+i, empty
		if number == 0 {
			stdin = input
		}
		r, err := j.startRank(number, path, stdin)
		if err != nil {
			return j.startError(number, err)
		}
		j.ranks = append(j.ranks, r)
		j.running++
		code := codeInterrupted
		select {
		case s := <-j.events.user:
			code = 128 + int(s.(syscall.Signal))
			j.onSignal(s.(syscall.Signal))
		case <-ctx.Done():
			j.onSignal(syscall.SIGTERM)
		default:
		}
		if j.interrupted {
			return &StartError{What: j.what(), Err: ErrInterrupted, code: code}
		}
	}
	if j.feed != nil {
		go j.feed.run()
	}
	return nil
}

// inputError explains why the ranks cannot be given an input. A file that is
// missing here is not the program.
func (j *Job) inputError(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &StartError{What: j.what(), Err: fmt.Errorf("their input: %w", err), code: codeNotExecutable}
	}
	return j.startError(0, err)
}

func (j *Job) what() string { return fmt.Sprintf("%d ranks", j.cfg.Ranks) }

func (j *Job) release() {
	for _, r := range j.ranks {
		_ = syscall.Close(r.control)
	}
	if j.feed != nil {
		j.feed.close()
	}
	if j.device != nil {
		_ = j.device.Close()
	}
	if j.place != nil {
		j.place.Close()
	}
	if j.segment != nil {
		_ = j.segment.Close()
	}
}

// supervise returns when all ranks have ended.
func (j *Job) supervise(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	if j.cfg.Timeout > 0 {
		j.deadlines.timeout = time.Now().Add(j.cfg.Timeout)
	}
	cancelled := ctx.Done()
	for j.lookAtRanks(); j.running > 0; j.lookAtRanks() {
		var alarm <-chan time.Time
		if at := j.deadlines.next(); !at.IsZero() {
			timer.Reset(time.Until(at))
			alarm = timer.C
		}
		select {
		case <-j.events.child:
		case s := <-j.events.user:
			j.onSignal(s.(syscall.Signal))
		case <-j.events.report:
			j.report()
		case <-j.reports:
			j.report()
		case told := <-j.others:
			j.interrupted = j.interrupted || told
			if j.deadlines.kill.IsZero() {
				j.endSoon()
			}
		case <-cancelled:
			cancelled = nil
			j.onSignal(syscall.SIGTERM)
		case <-alarm:
			if j.onDeadline(time.Now()) {
				return
			}
		}
	}
}

// lookAtRanks finds the ranks that have ended since the last time.
func (j *Job) lookAtRanks() {
	var failed []*rank
	for _, r := range j.ranks {
		if r.ended {
			continue
		}
		end, ended, err := sys.Ended(r.pid)
		if err != nil {
			// Somebody else has reaped it: how it ended is lost, and the PID
			// may already be another's.
			end, ended, r.lost = sys.End{Code: 255}, true, true
		}
		if !ended {
			continue
		}
		r.ended, r.end = true, end
		j.running--
		r.joined = j.segment.Attached(r.number)
		if j.segment.Finalized(r.number) {
			if end != (sys.End{}) {
				failed = append(failed, r)
			}
			continue
		}
		if end != (sys.End{}) || r.joined {
			failed = append(failed, r)
		}
		// What the rank has started must not write to the others' memory
		// once they count it as dead. A rank that ended well without Init
		// counts too: others that call Init would wait for it.
		r.signal(syscall.SIGKILL)
		j.segment.MarkDead(r.number)
	}
	// Of ranks found together those hit by a signal come first: the others
	// may have stumbled over them. Those that have stumbled over another host's come last.
	slices.SortStableFunc(failed, func(a, b *rank) int {
		if a, b := j.segment.LostPeer(a.number), j.segment.LostPeer(b.number); a != b {
			return map[bool]int{true: 1, false: -1}[a]
		}
		return -cmp.Compare(min(a.end.Signal, 1), min(b.end.Signal, 1))
	})
	if len(failed) > 0 && j.failure == nil {
		j.onFailure(failed[0])
	}
}

// onFailure begins the end of the job: r has failed first.
func (j *Job) onFailure(r *rank) {
	j.failure = j.rankError(r, r.end)
	j.failure.LostPeer = j.ending || j.segment.LostPeer(r.number)
	j.failure.peer = j.segment.FirstLost()
	if j.interrupted {
		return // as wanted
	}
	if j.failure.LostPeer { // what has failed is told where that was
		j.endSoon()
		return
	}
	if !j.failure.brokenPipe() || !j.stdout.broken.Load() {
		line := "exanet: " + j.failure.Error()
		if i := slices.IndexFunc(j.ranks, (*rank).missed); i >= 0 && r.joined {
			line += fmt.Sprintf("; rank %d had ended before, without Init", j.ranks[i].number)
		}
		if j.running > 0 {
			line += "; the other ranks are ended"
		}
		j.say(r, line)
	}
	j.endSoon()
}

// endSoon ends the ranks, unless they end by themselves before.
func (j *Job) endSoon() {
	now := time.Now()
	j.deadlines.term = now.Add(termAfterFailure)
	j.deadlines.kill = now.Add(killAfterFailure)
}

// onSignal passes a signal of the user on to the ranks.
func (j *Job) onSignal(s syscall.Signal) {
	again := j.interrupted
	switch s {
	case syscall.SIGINT, syscall.SIGTERM:
		j.interrupted = true
		if again && s == syscall.SIGINT {
			j.deadlines.kill = time.Now()
			return
		}
		if at := time.Now().Add(killAfterSignal); j.deadlines.kill.IsZero() && j.deadlines.giveUp.IsZero() {
			j.deadlines.kill = at
		}
	case syscall.SIGCONT:
		if j.feed != nil {
			j.feed.resume()
		}
	}
	j.signalRunning(s)
	if j.interrupted {
		j.signalRunning(syscall.SIGCONT) // a stopped rank cannot take it
	}
	if s == syscall.SIGTSTP {
		// Having passed it on, do what it is for.
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
	}
}

// onDeadline does what is due and reports whether to wait no longer.
func (j *Job) onDeadline(now time.Time) (giveUp bool) {
	d := &j.deadlines
	due := func(t *time.Time) bool {
		if t.IsZero() || now.Before(*t) {
			return false
		}
		*t = time.Time{}
		return true
	}
	if due(&d.timeout) && !j.interrupted && j.failure == nil {
		j.timedOut = true
		j.report()
		j.say(nil, "exanet: "+(&TimeoutError{Timeout: j.cfg.Timeout}).Error())
		j.onSignal(syscall.SIGTERM)
	}
	if due(&d.term) {
		j.ending = true
		j.signalRunning(syscall.SIGTERM)
		j.signalRunning(syscall.SIGCONT) // a stopped rank cannot take it
	}
	if due(&d.kill) {
		d.term = time.Time{}
		j.signalRunning(syscall.SIGKILL)
		d.giveUp = now.Add(giveUpAfterKill)
	}
	if !due(&d.giveUp) {
		return false
	}
	for _, r := range j.ranks {
		if !r.ended {
			if j.failure == nil {
				j.failure = j.rankError(r, sys.End{Signal: syscall.SIGKILL})
			}
			j.say(nil, fmt.Sprintf("exanet: rank %d (pid %d) does not end, even after SIGKILL: it is stuck in the "+
				"kernel", r.number, r.pid))
		}
	}
	return true
}

func (j *Job) signalRunning(s syscall.Signal) {
	for _, r := range j.ranks {
		if !r.ended {
			r.signal(s)
		}
	}
}

// say prints a line without waiting for whoever reads our standard error.
func (j *Job) say(after *rank, line string) {
	select {
	case j.notices <- notice{after, line}:
	default: // nobody has read the last 16
	}
}

// lastWords is how long a line about a dead rank waits for what that rank has
// printed itself.
const lastWords = 100 * time.Millisecond

// printNotices prints lines until notices is closed.
func (j *Job) printNotices() {
	for n := range j.notices {
		if n.after != nil {
			// Its last words first, unless something it has started still
			// holds the pipe.
			select {
			case <-n.after.stderr.done:
			case <-time.After(lastWords):
			}
		}
		_ = j.stderr.write([]byte(n.line + "\n"))
		if n.after != nil {
			j.told = j.stderr.count()
		}
	}
}

// mayBury is how many lines behind that about the failed rank let it be overlooked.
const mayBury = 2

// mostWords is how many bytes of a rank's last line are worth saying again.
const mostWords = 400

// recall names the rank that has failed first, and its last line, once more if others have said much since. All output
// has been passed on.
func (j *Job) recall() {
	if j.told == 0 || j.stderr.count()-j.told < mayBury {
		return
	}
	i := slices.IndexFunc(j.ranks, func(r *rank) bool { return r.number == j.failure.Rank })
	line := "exanet: the first to fail: " + j.failure.Error()
	// The last line of a trace says nothing.
	if last := j.ranks[i].stderr.last; len(last) > 0 && len(last) <= mostWords && last[0] != '\t' {
		line += "; its last words: " + string(last)
	}
	_ = j.stderr.write([]byte(line + "\n"))
}
