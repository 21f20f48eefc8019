package scenario

import (
	"fmt"
	"strings"

	"github.com/exanet-mpi/exanet/check/world"
	"github.com/exanet-mpi/exanet/variants"
)

// letters are the names of ranks in files that are written.
var letters = []string{"A", "B", "C", "D"}

// Write returns the file that plays actions of a program over a protocol, and
// closes the world if nothing is left to happen then. Its output is not in it.
func Write(about, protocol string, cfg world.Config, program world.Program, acts []world.Action, settled bool) string {
	var b strings.Builder
	for _, l := range strings.Split(strings.TrimSpace(about), "\n") {
		fmt.Fprintf(&b, "# %s\n", l)
	}
	fmt.Fprintf(&b, "ranks %s variant=%s", strings.Join(letters[:cfg.Ranks], " "), protocol)
	if cfg.Capacity > 0 {
		fmt.Fprintf(&b, " capacity=%d", cfg.Capacity)
	}
	if cfg.Mortal > 0 {
		fmt.Fprintf(&b, " mortal=%d", cfg.Mortal)
	}
	if cfg.Doubts {
		b.WriteString(" doubts=1")
	}
	if cfg.Broken {
		b.WriteString(" broken=1")
	}
	if cfg.Room > 0 {
		fmt.Fprintf(&b, " room=%d", cfg.Room)
	}
	if cfg.Window > 0 {
		fmt.Fprintf(&b, " window=%d", cfg.Window)
	}
	if cfg.Pieces > 1 {
		fmt.Fprintf(&b, " pieces=%d", cfg.Pieces)
	}
	b.WriteString("\n----\n\nplay\n")
	w := world.New(cfg, program)
	next := make([]int, cfg.Ranks)
	for _, a := range acts {
		b.WriteString(action(w, a, program, next) + "\n")
		w.Do(a)
	}
	if settled {
		b.WriteString("close\n")
	}
	b.WriteString("----\n")
	return b.String()
}

// action is the line of an action that is about to be done.
func action(w *world.World, a world.Action, program world.Program, next []int) string {
	from, to := letters[a.From], letters[a.To]
	switch a.Kind {
	case world.Fast, world.Direct:
		o := program[a.From][next[a.From]]
		if o.Kind != world.Probe || !o.Block {
			next[a.From]++
		}
		how := map[world.ActionKind]string{world.Fast: " fast ", world.Direct: " direct "}
		return from + how[a.Kind] + operation(o)
	case world.Poll:
		return fmt.Sprintf("poll %s->%s", from, to)
	case world.Enter:
		return "enter " + from
	case world.Step:
		o := program[a.From][next[a.From]]
		if o.Kind != world.Probe || !o.Block {
			next[a.From]++
		}
		switch o.Kind {
		case world.Free:
			return from + " free\n" + from + " open"
		case world.Take:
			reqs := w.Requests(int(a.From))
			for i := len(reqs) - 1; i >= 0; i-- {
				if reqs[i].Held() {
					return fmt.Sprintf("%s mrecv %d", from, i+1)
				}
			}
			return "# " + from + " has extracted nothing"
		}
		return from + " " + operation(o)
	case world.Deliver:
		return fmt.Sprintf("deliver %s->%s", from, to)
	case world.Flush:
		return "flush " + from
	case world.Doubt:
		return "doubt " + from
	case world.Die:
		return "die " + from
	case world.Tell:
		return fmt.Sprintf("tell %s->%s", from, to)
	}
	nth, pair := 0, -1
	if a.Kind == world.Land {
		pair = int(a.To)
	}
	first := int(a.From)
	if a.Kind == world.Notice {
		first = int(a.To)
	}
	for _, x := range w.Enabled(nil) {
		if x.Kind == a.Kind && matches(x, first, pair) {
			nth++
		}
		if x == a {
			break
		}
	}
	line := map[world.ActionKind]string{world.Land: "write " + from + "->" + to, world.Notice: "notify " + to,
		world.Finish: "done " + from}[a.Kind]
	if nth > 1 {
		line += fmt.Sprintf(" %d", nth)
	}
	if a.Kind == world.Land && w.Config().Pieces > 1 {
		line += " half"
	}
	return line
}

// operation is the line of an operation.
func operation(o world.Op) string {
	s := words(o)
	if o.Comm > 0 {
		s += fmt.Sprintf(" comm=%d", o.Comm)
	}
	return s
}

func words(o world.Op) string {
	any := func(v int, wild int, name string) string {
		if v == wild {
			return "any"
		}
		return name
	}
	i := "i"
	if o.Block {
		i = ""
	}
	peer := any(o.Peer, int(variants.AnySource), letters[max(o.Peer, 0)])
	tag := any(int(o.Tag), int(variants.AnyTag), fmt.Sprintf("T%d", o.Tag))
	switch o.Kind {
	case world.Send:
		if o.Sync {
			i += "s"
		}
		return fmt.Sprintf("%ssend to=%s tag=%s size=%d", i, peer, tag, o.Size)
	case world.Recv:
		return fmt.Sprintf("%srecv from=%s tag=%s size=%d", i, peer, tag, o.Size)
	case world.Extract:
		return fmt.Sprintf("improbe from=%s tag=%s size=%d", peer, tag, o.Size)
	case world.Probe:
		return fmt.Sprintf("%sprobe from=%s tag=%s", i, peer, tag)
	}
	return fmt.Sprintf("cancel %d", o.Req+1)
}
