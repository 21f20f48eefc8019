package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/world"
)

var timed = regexp.MustCompile(`^(t[0-9]+'*):\s*(.*)$`)

// line plays a line and returns what it prints besides the chart.
func (s *Session) line(line string) (string, error) {
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
	}
	if len(words) < 2 {
		return "", fmt.Errorf("unknown (see the package comment of variants/scenario)")
	}
	return "", s.move(words[0], words[1], len(words) > 2 && words[2] == "half")
}

// move lets the devices do something.
func (s *Session) move(verb, where string, half bool) error {
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
		"done": world.Finish, "flush": world.Flush}
	kind, ok := kinds[verb]
	if !ok {
		return fmt.Errorf("unknown verb %q", verb)
	}
	if pair := kind == world.Deliver || kind == world.Land; pair != (to >= 0) {
		return fmt.Errorf("%s takes a rank for done, notify and flush, and a pair as S->R otherwise", verb)
	}
	for moved := false; ; moved = true {
		i := slices.IndexFunc(s.w.Enabled(nil), func(a world.Action) bool {
			switch kind {
			case world.Deliver, world.Land:
				return a.Kind == kind && int(a.From) == from && int(a.To) == to
			case world.Notice:
				return a.Kind == kind && int(a.To) == from
			}
			return a.Kind == kind && int(a.From) == from
		})
		if i < 0 && !moved {
			return fmt.Errorf("there is nothing to %s", verb)
		}
		if i < 0 {
			return nil
		}
		a := s.w.Enabled(nil)[i]
		before := s.pieces(a)
		s.w.Do(a)
		if kind != world.Land || half || before == s.pieces(a) || s.w.Violation() != nil {
			return nil
		}
		if s.pieces(a) == s.w.Config().Pieces || s.pieces(a) == 0 {
			return nil
		}
	}
}

// pieces is how many pieces of the write of an action have landed.
func (s *Session) pieces(a world.Action) int {
	for _, v := range s.w.Writes() {
		if v.From == int(a.From) && v.N == int(a.N) {
			return v.Pieces
		}
	}
	return 0
}

// operation plays what a rank's program does.
func (s *Session) operation(rank int, words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("what shall %s do?", s.Chart.Names[rank])
	}
	if q := s.blocked[rank]; q != nil && !q.Done() {
		return fmt.Errorf("%s is still in %s", s.Chart.Names[rank], s.names[q])
	}
	verb := words[0]
	if verb == "cancel" {
		return s.cancel(rank, words[1:])
	}
	o, err := s.parse(verb, words[1:])
	if err != nil {
		return err
	}
	if s.pending != "" && s.byName[s.pending] != nil {
		return fmt.Errorf("there is a request %s already", s.pending)
	}
	if q := s.w.Post(rank, o); q != nil && o.Block {
		s.blocked[rank] = q
	}
	return nil
}

func (s *Session) cancel(rank int, words []string) error {
	if len(words) != 1 || s.byName[words[0]] == nil || s.byName[words[0]].Rank != rank {
		return fmt.Errorf("cancel takes the name of a request of the rank")
	}
	s.w.Post(rank, world.Op{Kind: world.Cancel, Req: s.byName[words[0]].ID})
	return nil
}

// parse makes an operation of a verb and its arguments.
func (s *Session) parse(verb string, args []string) (o world.Op, err error) {
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
