package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/exanet-mpi/exanet/check/world"
	"github.com/exanet-mpi/exanet/variants"
)

var timed = regexp.MustCompile(`^(t[0-9]+'*):\s*(.*)$`)

// line plays a line and returns what it prints besides the chart.
func (s *Player) line(line string) (string, error) {
	s.time = ""
	if m := timed.FindStringSubmatch(line); m != nil {
		s.time, line = m[1], m[2]
	}
	words := strings.Fields(line)
	if len(words) == 0 {
		return "", fmt.Errorf("nothing follows the time")
	}
	if rank := slices.Index(s.Chart.Names, words[0]); rank >= 0 {
		return "", s.operation(rank, words[1:])
	}
	switch words[0] {
	case "show":
		return s.show(), nil
	case "run":
		s.w.Run()
		return "", nil
	case "close":
		if s.w.Settled(); s.w.Violation() == nil {
			s.w.Close()
		}
		return "", nil
	}
	if len(words) < 2 {
		return "", fmt.Errorf("unknown (see the package comment of check/scenario)")
	}
	nth, half := 1, false
	for _, w := range words[2:] {
		n, err := strconv.Atoi(w)
		switch {
		case w == "half":
			half = true
		case err == nil && n > 0:
			nth = n
		default:
			return "", fmt.Errorf("%q is neither half nor a number", w)
		}
	}
	return "", s.move(words[0], words[1], nth, half)
}

// move lets the devices do something, with the nth of those that could.
func (s *Player) move(verb, where string, nth int, half bool) error {
	from, to := -1, -1
	if a, b, ok := strings.Cut(where, "->"); ok {
		from, to = slices.Index(s.Chart.Names, a), slices.Index(s.Chart.Names, b)
		if from < 0 || to < 0 {
			return fmt.Errorf("no such ranks (there are %s)", strings.Join(s.Chart.Names, ", "))
		}
	} else if from = slices.Index(s.Chart.Names, where); from < 0 {
		return fmt.Errorf("no rank %q (there are %s)", where, strings.Join(s.Chart.Names, ", "))
	}
	kinds := map[string]world.ActionKind{"deliver": world.Deliver, "write": world.Land, "notify": world.Notice,
		"done": world.Finish, "flush": world.Flush, "doubt": world.Doubt, "die": world.Die, "tell": world.Tell,
		"poll": world.Poll, "enter": world.Enter}
	kind, ok := kinds[verb]
	if !ok {
		return fmt.Errorf("unknown verb %q", verb)
	}
	if pair := kind == world.Deliver || kind == world.Land || kind == world.Tell ||
		kind == world.Poll; pair != (to >= 0) {
		return fmt.Errorf("%s takes a pair as S->R for deliver, poll, write and tell, and a rank otherwise", verb)
	}
	could := func() (acts []world.Action) {
		for _, a := range s.w.Enabled(nil) {
			if a.Kind == kind && matches(a, from, to) {
				acts = append(acts, a)
			}
		}
		return acts
	}
	acts := could()
	if len(acts) < nth {
		return fmt.Errorf("there is nothing to %s", verb)
	}
	a := acts[nth-1]
	s.w.Do(a)
	for kind == world.Land && !half && s.w.Violation() == nil && slices.Contains(could(), a) {
		s.w.Do(a)
	}
	return nil
}

// matches reports whether an action is of a rank, or of a pair.
func matches(a world.Action, from, to int) bool {
	if a.Kind == world.Notice {
		return int(a.To) == from
	}
	return int(a.From) == from && (to < 0 || int(a.To) == to)
}

// operation plays what a rank's program does.
func (s *Player) operation(rank int, words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("what shall %s do?", s.Chart.Names[rank])
	}
	if q := s.blocked[rank]; q != nil && !q.Done() {
		return fmt.Errorf("%s is still in %s", s.Chart.Names[rank], s.names[q])
	}
	verb := words[0]
	how := world.Step
	switch verb {
	case "fast", "direct":
		if len(words) < 2 {
			return fmt.Errorf("%s is followed by a send, a receive or a probe", verb)
		}
		how = map[string]world.ActionKind{"fast": world.Fast, "direct": world.Direct}[verb]
		words = words[1:]
		verb = words[0]
	case "cancel":
		return s.onRequest(rank, verb, world.Cancel, words[1:])
	case "mrecv":
		return s.onRequest(rank, verb, world.Take, words[1:])
	case "free":
		s.w.Post(rank, world.Op{Kind: world.Free})
		return nil
	case "open":
		s.w.Post(rank, world.Op{Kind: world.Open})
		return nil
	}
	o, err := s.parse(verb, words[1:])
	if err != nil {
		return err
	}
	if s.pending != "" && s.byName[s.pending] != nil {
		return fmt.Errorf("there is a request %s already", s.pending)
	}
	q, ok := s.w.PostBy(how, rank, o)
	if !ok {
		return fmt.Errorf("that cannot be done in this way now")
	}
	if q != nil && o.Block {
		s.blocked[rank] = q
	}
	return nil
}

// onRequest plays an operation whose argument is a request of the rank.
func (s *Player) onRequest(rank int, verb string, kind world.Kind, words []string) error {
	if len(words) == 1 {
		reqs := s.w.Requests(rank)
		if n, err := strconv.Atoi(words[0]); err == nil && n >= 1 && n <= len(reqs) {
			words[0] = s.names[reqs[n-1]]
		}
		if q := s.byName[words[0]]; q != nil && q.Rank == rank {
			s.w.Post(rank, world.Op{Kind: kind, Req: q.ID})
			return nil
		}
	}
	return fmt.Errorf("%s takes the name or the number of a request of the rank", verb)
}

// parse makes an operation of a verb and its arguments.
func (s *Player) parse(verb string, args []string) (o world.Op, err error) {
	name := verb
	o.Block = !strings.HasPrefix(verb, "i")
	name = strings.TrimPrefix(name, "i")
	peer := "from"
	switch name {
	case "send", "ssend":
		o.Kind, o.Sync, peer = world.Send, name == "ssend", "to"
	case "recv":
		o.Kind = world.Recv
	case "probe":
		o.Kind = world.Probe
	case "mprobe":
		if o.Kind = world.Extract; o.Block {
			return o, fmt.Errorf("a matched probe does not wait here: improbe")
		}
	default:
		return o, fmt.Errorf("unknown operation %q", verb)
	}
	s.pending = ""
	given := map[string]bool{}
	for _, a := range args {
		k, v, _ := strings.Cut(a, "=")
		given[k] = true
		switch k {
		case peer:
			o.Peer = slices.Index(s.Chart.Names, v)
			if v == "any" && peer == "from" {
				o.Peer = int(variants.AnySource)
			} else if o.Peer < 0 {
				return o, fmt.Errorf("no rank %q", v)
			}
		case "tag":
			if v == "any" && peer == "from" {
				o.Tag = variants.AnyTag
				break
			}
			n, err := strconv.ParseInt(strings.TrimPrefix(v, "T"), 10, 32)
			if err != nil || n < 0 {
				return o, fmt.Errorf("tag %q is none (T1, T2, ...)", v)
			}
			o.Tag = int32(n)
		case "size":
			if o.Size, err = strconv.Atoi(v); err != nil || o.Size < 0 || o.Size > 1<<20 {
				return o, fmt.Errorf("size %q is not a number of bytes up to 1 MiB", v)
			}
		case "comm":
			if o.Comm, err = strconv.Atoi(v); err != nil || o.Comm < 0 || o.Comm > 1 {
				return o, fmt.Errorf("communicator %q is none (0, 1)", v)
			}
		case "as":
			s.pending = v
		default:
			return o, fmt.Errorf("unknown argument %q", a)
		}
	}
	if !given[peer] || !given["tag"] || o.Kind != world.Probe && !given["size"] {
		return o, fmt.Errorf("%s needs %s=, tag= and, but for probes, size=", verb, peer)
	}
	return o, nil
}
