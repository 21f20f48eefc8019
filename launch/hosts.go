package launch

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/exanet-mpi/exanet/emu/net"
)

// A job on several hosts has a part on each: a launcher there, which this one starts by a remote shell, and which does
// for its ranks what a launcher does. What the ranks print comes back as the shell's output, between lines by which
// the part says that it has begun, and how it has ended: nothing is made of the shell's own end. The shell's input
// carries orders: at first the part, then what rank 0 reads, signals, and that another part has failed. When it
// ends, so does the part: nothing is left of a job whose first launcher has gone.

// HostRanks is how many ranks a host has.
type HostRanks struct {
	Host  string
	Ranks int
}

// ParseHosts reads a list as "a:2,b:2"; a host without a number has one rank.
func ParseHosts(text string) (list []HostRanks, err error) {
	for one := range strings.SplitSeq(text, ",") {
		host, number, given := strings.Cut(one, ":")
		h := HostRanks{Host: host, Ranks: 1}
		if given {
			if h.Ranks, err = strconv.Atoi(number); err != nil || h.Ranks < 1 {
				return nil, fmt.Errorf("%q: want HOST:RANKS, as node1:2", one)
			}
		}
		if host == "" || strings.HasPrefix(host, "-") {
			return nil, fmt.Errorf("%q: want HOST:RANKS, as node1:2", one)
		}
		list = append(list, h)
	}
	return list, nil
}

// Hosts describes where a job runs.
type Hosts struct {
	List   []HostRanks
	Shell  []string // the remote shell, which gets the host and a command
	Exanet string   // the path of exanet there
}

// of names the host of a rank, "another host" of rank -1.
func (h Hosts) of(rank int) string {
	for _, l := range h.List {
		if rank >= 0 && rank < l.Ranks {
			return l.Host
		}
		rank -= l.Ranks
	}
	return "another host"
}

// part is what a launcher on another host is to do.
type part struct {
	First, Ranks, Size int
	Prog               string
	Args, Env          []string
	Dir                string
	Label              bool
	Meet               string
	Host               string // what the job calls this host
	Word               string // by which lines of the part's own begin, between those that its ranks print
}

// partEnd is how a part has ended, which it says in its last line.
type partEnd struct {
	Code int
	Lost bool // its ranks have failed after those of another
	Peer int  // the first of these, -1 if that is not known
}

// order is what it is told: one of these.
type order struct {
	Part   *part
	Input  []byte
	Signal syscall.Signal
	End    string // "": no; "input": there is no more; "job": a part has failed; "others": only after others
	Report bool
}

// HostError says that the part of a job on a host has failed.
type HostError struct {
	Host string
	Code int // of the part's first rank that has failed, or of the remote shell

	begun, told bool   // the part has begun, and has told how it ended: then the code is its own
	lost        bool   // its ranks have failed after those of another
	peer        string // which that is
}

func (e *HostError) Error() string {
	shell := fmt.Sprintf("host %s: the remote shell has ended with %d", e.Host, e.Code)
	switch {
	case e.lost:
		return fmt.Sprintf("host %s: its ranks have lost those of %s, which have not failed: see whether the network "+
			"between them is broken", e.Host, e.peer)
	case e.told:
		return fmt.Sprintf("host %s: its part of the job has ended with %d", e.Host, e.Code)
	case e.Code == hostGivenUp:
		return fmt.Sprintf("host %s: it has not answered for %v and is given up: see whether it can be reached, and "+
			"whether processes of the job are left there", e.Host, partEnds)
	case e.Code == shellKilled:
		return fmt.Sprintf("host %s: the remote shell was killed; the other ranks are ended", e.Host)
	case e.begun:
		return shell + " before its part of the job: see whether that was killed, or the connection is lost"
	case e.Code == 0:
		return shell + " and has run nothing of the job: see whether it runs commands there, and whether exanet is " +
			"of this version there"
	case e.Code == shellFailed:
		return shell + ": see whether it lets you in without a password"
	case e.Code == codeNotFound:
		return shell + ": see whether exanet is there, under the same path as here"
	}
	return shell + ": see whether it runs commands there"
}

// ExitCode is what a command line should exit with.
func (e *HostError) ExitCode() int { return max(e.Code, 1) }

const (
	shellFailed = 255 // what ssh ends with where there is no connection
	shellKilled = -1
	hostGivenUp = -2
)

// partEnds is how long a part takes at most that is told to end: it kills its ranks before. So long has its remote
// shell to end then. Tests change it.
var partEnds = 2 * giveUpAfterKill

// remote is the part of a job on a host.
type remote struct {
	host   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	orders chan order // see tell
	input  chan order // what rank 0 is to read, in order
	out    *relay
	errs   *relay

	ended   chan struct{} // the remote shell has
	givenUp chan struct{}

	begun  bool     // the part says so
	over   *partEnd // and how it has ended
	killed bool     // the remote shell, by this launcher
}

// tell gives an order, and does not wait for the shell to take it.
func (r *remote) tell(o order) {
	select {
	case r.orders <- o:
	default: // the host is cut off
	}
}

const ordersMost = 64 // that a host has not taken

// pass passes orders on to the remote shell, which may be long in taking them.
func (r *remote) pass(first order) {
	e := json.NewEncoder(r.stdin)
	for o := first; ; {
		_ = e.Encode(o) // else the shell has ended, which is noticed
		select {
		case o = <-r.orders:
		case o = <-r.input:
		case <-r.ended:
			return
		}
	}
}

// wait returns when the part has ended and all that it has printed is passed on, or when it is given up. A remote shell
// that stays behind its part is ended: what keeps it there is no part of the job any more.
func (r *remote) wait(say func(string)) {
	go func() {
		_ = r.cmd.Wait()
		close(r.ended)
	}()
	var lingers <-chan time.Time
	givenUp := r.givenUp
	for ended := false; !ended; {
		select {
		case line := <-r.out.heard:
			if r.hear(line); r.over != nil {
				lingers = time.After(partEnds)
				_ = r.stdin.Close()
			}
		case <-lingers:
			say("host " + r.host + ": the remote shell has not ended with its part of the job, and is " +
				"killed: see what keeps it there")
			r.kill()
		case <-givenUp:
			givenUp = nil
			r.kill()
		case <-r.ended:
			ended = true
		}
	}
	for _, output := range []*relay{r.out, r.errs} {
		if r.killed {
			output.finish()
		}
		select {
		case <-output.done:
		case <-r.givenUp: // something holds on to the output
			return
		}
	}
	for len(r.out.heard) > 0 {
		r.hear(<-r.out.heard)
	}
}

// hear takes a line of the part's own.
func (r *remote) hear(line []byte) {
	var end partEnd
	if r.begun && json.Unmarshal(line, &end) == nil {
		r.over = &end
	}
	r.begun = true
}

// end is how a part has ended: as it says itself, else as its remote shell has.
func (r *remote) end() *HostError {
	e := &HostError{Host: r.host, Code: r.cmd.ProcessState.ExitCode(), begun: r.begun}
	switch {
	case r.over != nil:
		e.told, e.Code, e.lost = true, r.over.Code, r.over.Lost
	case r.killed:
		e.Code = hostGivenUp
	}
	return e
}

// kill ends the remote shell, unless it has ended.
func (r *remote) kill() {
	select {
	case <-r.ended:
	default:
		r.killed = true
		_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// RunHosts runs a job on several hosts, and returns when it is over. cfg.Ranks is not used. The error is a *HostError
// of the first part that has failed, or as those of Start and Wait.
func RunHosts(ctx context.Context, cfg Config, hosts Hosts) error {
	if cfg.Env == nil {
		cfg.Env = os.Environ()
	}
	if _, err := FindProgram(hosts.Shell[0]); err != nil {
		return err
	}
	size := 0
	for _, h := range hosts.List {
		size += h.Ranks
	}
	out, errs := sink{w: cfg.Stdout}, sink{w: cfg.Stderr}
	say := func(text string) { _ = errs.write([]byte("exanet: " + text + "\n")) }
	place, err := net.NewPlace(net.NewSecret(), size, func(n int64) { say(refused(n)) })
	if err != nil {
		return &StartError{What: fmt.Sprintf("%d ranks", size), Err: err, code: codeLimit}
	}
	defer place.Close()
	dir, err := os.Getwd()
	if err != nil {
		return &StartError{What: cfg.Prog, Err: err, code: codeNotFound}
	}
	var events events
	events.listen()
	defer events.stop()
	var parts []*remote
	ends := make(chan *remote, len(hosts.List))
	first := 0
	for _, h := range hosts.List {
		p := &part{First: first, Ranks: h.Ranks, Size: size, Prog: cfg.Prog, Args: cfg.Args, Env: cfg.Env, Dir: dir,
			Label: cfg.Label, Meet: place.Meet(), Host: h.Host, Word: rand.Text()}
		r, err := startRemote(h.Host, hosts, p, &out, &errs)
		if err != nil {
			for _, other := range parts {
				_ = other.stdin.Close()
			}
			return &StartError{What: strings.Join(hosts.Shell, " "), Err: err, code: codeNotExecutable}
		}
		parts = append(parts, r)
		first += h.Ranks
		go func() {
			r.wait(say)
			ends <- r
		}()
	}
	go parts[0].feed(cfg.Stdin)
	all := func(o order) {
		for _, r := range parts {
			r.tell(o)
		}
	}
	var late <-chan time.Time // for parts that have been told to end
	end := func(o order) {
		all(o)
		if late == nil {
			late = time.After(partEnds)
		}
	}
	var timeout, terminate <-chan time.Time
	if cfg.Timeout > 0 {
		timeout = time.After(cfg.Timeout)
	}
	var failure error
	var lostPeer *HostError // a part that has failed after another
	cancelled := ctx.Done()
	for left := len(parts); left > 0; {
		select {
		case r := <-ends:
			left--
			parts = slices.DeleteFunc(parts, func(other *remote) bool { return other == r })
			e := r.end()
			switch {
			case e.told && e.Code == 0:
				place.Close() // nobody need wait for its ranks
			case e.lost:
				if lostPeer == nil { // others may have failed because of it
					e.peer = hosts.of(r.over.Peer)
					lostPeer = e
				}
				if failure == nil {
					end(order{End: "others"})
				} else {
					end(order{End: "job"})
				}
			default:
				// What it has told it has said, too; or it was told that nobody reads.
				if !e.told && (e.Code == hostGivenUp || failure == nil && !out.broken.Load()) {
					say(e.Error())
				}
				if failure == nil {
					failure = e
				}
				if e.begun {
					end(order{End: "job"})
				} else { // the job is not complete: its ranks need not find that out
					end(order{Signal: syscall.SIGTERM})
				}
			}
		case s := <-events.user:
			tell := all
			if s == syscall.SIGINT || s == syscall.SIGTERM {
				tell = end
			}
			tell(order{Signal: s.(syscall.Signal)})
		case <-events.report:
			all(order{Report: true})
		case <-cancelled:
			cancelled = nil
			failure = fmt.Errorf("job ended early: %w", context.Cause(ctx))
			end(order{Signal: syscall.SIGTERM})
		case <-timeout:
			failure = &TimeoutError{Timeout: cfg.Timeout}
			all(order{Report: true})
			terminate = time.After(2 * answerTime) // no rank is to see another end before it has answered
		case <-terminate:
			end(order{Signal: syscall.SIGTERM})
		case <-late:
			for _, r := range parts {
				close(r.givenUp)
			}
		}
	}
	if timedOut := (*TimeoutError)(nil); errors.As(failure, &timedOut) {
		say(timedOut.Error()) // behind what the ranks wait for, which the parts have said
	}
	if failure == nil && lostPeer != nil {
		say(lostPeer.Error())
		failure = lostPeer
	}
	// A part that nobody could read is no failure by itself.
	var unread *HostError
	if errors.As(failure, &unread) && !unread.told && out.broken.Load() || failure == nil {
		failure = cmp.Or(errors.Join(out.lost(), errs.lost()), failure)
	}
	return failure
}

// refused is what a launcher says of strangers.
func refused(n int64) string {
	return fmt.Sprintf("%d connections of strangers were refused where the ranks meet: see who tries the ports of "+
		"this host", n)
}

// startRemote starts the launcher of a part.
func startRemote(host string, hosts Hosts, p *part, out, errs *sink) (*remote, error) {
	words := append(append([]string{}, hosts.Shell...), host, "exec "+Quoted(hosts.Exanet)+" run-part")
	r := &remote{host: host, cmd: exec.Command(words[0], words[1:]...), orders: make(chan order, ordersMost),
		input: make(chan order), ended: make(chan struct{}), givenUp: make(chan struct{})}
	// A group of its own: what a terminal sends is for this launcher, which passes it on.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipes := [2]*os.File{}
	for i, to := range []*io.Writer{&r.cmd.Stdout, &r.cmd.Stderr} {
		ours, theirs, err := newPipe()
		if err != nil {
			return nil, err
		}
		f := os.NewFile(uintptr(theirs), "output of "+host)
		defer f.Close()
		pipes[i], *to = ours, f
	}
	var err error
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	heard := make(chan []byte, 2) // that the part begins, and how it ends
	r.out = &relay{src: pipes[0], dst: out, word: []byte(p.Word), heard: heard}
	r.errs = &relay{src: pipes[1], dst: errs}
	r.out.start()
	r.errs.start()
	go r.pass(order{Part: p})
	return r, nil
}

// feed passes on what rank 0 is to read.
func (r *remote) feed(src io.Reader) {
	for src != nil {
		b := make([]byte, 32<<10)
		n, err := src.Read(b)
		if n > 0 && !r.give(order{Input: b[:n]}) {
			return
		}
		if err != nil {
			break
		}
	}
	r.give(order{End: "input"})
}

// give passes input on, and reports whether it was taken.
func (r *remote) give(o order) bool {
	select {
	case r.input <- o:
		return true
	case <-r.ended:
		return false
	}
}

// Quoted is a word for a shell.
func Quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// RunPart is the launcher of a part: its orders come from in. The error is as of Start and Wait.
func RunPart(ctx context.Context, in io.Reader, stdout, stderr io.Writer) (err error) {
	orders := json.NewDecoder(in)
	var o order
	if err := orders.Decode(&o); err != nil || o.Part == nil {
		return &StartError{What: "a part of a job", Err: errors.New("exanet run --hosts does this"), code: codeLimit}
	}
	p := o.Part
	if _, err := fmt.Fprintln(stdout, p.Word); err != nil {
		return onHost(p.Host, &StartError{What: p.Prog, Err: err, code: codeLimit})
	}
	defer func() {
		text, _ := json.Marshal(endOf(err)) // of a number and a flag
		_, _ = fmt.Fprintf(stdout, "%s%s\n", p.Word, text)
	}()
	if err := os.Chdir(p.Dir); err != nil {
		return onHost(p.Host, &StartError{What: p.Prog, Err: err, code: codeNotFound})
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	input := newBacklog()
	j, err := Start(ctx, Config{Ranks: p.Ranks, First: p.First, Size: p.Size, Prog: p.Prog, Args: p.Args, Env: p.Env,
		Label: p.Label, Meet: p.Meet, Host: p.Host, Stdin: input, Stdout: stdout, Stderr: stderr})
	if err != nil {
		return onHost(p.Host, err)
	}
	go func() {
		for {
			var o order
			if err := orders.Decode(&o); err != nil {
				cancel(onHost(p.Host, errors.New("the launcher of the job has gone, or the connection to it")))
				return
			}
			switch {
			case o.Input != nil:
				input.add(o.Input)
			case o.End == "input":
				input.end()
			case o.End == "job" || o.End == "others":
				j.others <- o.End == "job"
			case o.Signal != 0:
				j.events.user <- o.Signal
			case o.Report:
				j.Report()
			}
		}
	}()
	return j.Wait()
}

// endOf is how a part with this error has ended.
func endOf(err error) (end partEnd) {
	var coded interface{ ExitCode() int }
	switch {
	case err == nil:
	case errors.As(err, &coded):
		end.Code = coded.ExitCode()
	default:
		end.Code = codeLimit
	}
	var rank *RankError
	if errors.As(err, &rank) {
		end.Lost, end.Peer = rank.LostPeer, rank.peer
	}
	return end
}

// onHost says of which host an error of a part is.
func onHost(host string, err error) error { return fmt.Errorf("host %s: %w", host, err) }

// backlog is what rank 0 has not read yet. Orders behind it must not wait for that.
type backlog struct {
	mu    sync.Mutex
	more  *sync.Cond
	bytes []byte
	over  bool
}

func newBacklog() *backlog {
	b := new(backlog)
	b.more = sync.NewCond(&b.mu)
	return b
}

func (b *backlog) add(p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes = append(b.bytes, p...)
	b.more.Signal()
}

func (b *backlog) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.more.Signal()
}

// Read implements io.Reader.
func (b *backlog) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.bytes) == 0 && !b.over {
		b.more.Wait()
	}
	n := copy(p, b.bytes)
	if b.bytes = b.bytes[n:]; n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}
