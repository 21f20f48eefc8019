package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/exanet-mpi/exanet/check/world"
	"github.com/exanet-mpi/exanet/variants"
)

func tag(t int32) string {
	if t == variants.AnyTag {
		return "any tag"
	}
	return fmt.Sprintf("T%d", t)
}

func (s *Player) rankName(r int) string {
	if r == int(variants.AnySource) {
		return "any"
	}
	return s.Chart.Names[r]
}

// call is a posted request as its program has it. Requests without a name get
// s1, s2, ... or r1, r2, ...
func (s *Player) call(q *world.Request) string {
	o := q.Op
	name := s.names[q]
	if name == "" {
		name = s.pending
		s.pending = ""
		for n := 1; name == "" || s.byName[name] != nil; n++ {
			name = fmt.Sprintf("%c%d", "sr"[min(int(o.Kind), 1)], n)
		}
		s.names[q], s.byName[name] = name, q
	}
	verb, dir := "send", "to"
	if o.Sync {
		verb = "ssend"
	}
	if o.Kind == world.Recv {
		verb, dir = "recv", "from"
		if o.Matched {
			verb = "mprobe"
		}
	}
	if !o.Block {
		verb = "i" + verb
	}
	return fmt.Sprintf("%s %s %s %s, %s, %d B", name, verb, dir, s.rankName(o.Peer), tag(o.Tag), o.Size)
}

func (s *Player) outcome(e world.Event) string {
	name := s.names[e.Request]
	switch {
	case e.Status.Cancelled:
		return name + " cancelled"
	case e.Request.Op.Kind == world.Send && e.Err == nil:
		return name + " complete"
	case e.Err != nil && !errors.Is(e.Err, variants.ErrTruncate):
		return fmt.Sprintf("%s fails: %v", name, e.Err)
	case e.Err != nil:
		return fmt.Sprintf("%s truncated: %d B from %s, %s", name, e.Status.Size, s.rankName(int(e.Status.Source)),
			tag(e.Status.Tag))
	}
	return fmt.Sprintf("%s complete: %d B from %s, %s", name, e.Status.Size, s.rankName(int(e.Status.Source)),
		tag(e.Status.Tag))
}

func (s *Player) probed(e world.Event) string {
	what := fmt.Sprintf("probe from %s, %s: ", s.rankName(e.Op.Peer), tag(e.Op.Tag))
	if !e.Found {
		return what + "nothing"
	}
	return what + fmt.Sprintf("%d B from %s, %s", e.Status.Size, s.rankName(int(e.Status.Source)), tag(e.Status.Tag))
}

// message is a control message in words.
func (s *Player) message(e world.Event) string {
	m := e.Env
	var b strings.Builder
	b.WriteString(m.Kind.String())
	switch m.Kind {
	case variants.Credit:
		return b.String()
	case variants.Forget, variants.Forgotten:
		for i := range len(e.Payload) / 8 {
			w := variants.Word(e.Payload, i)
			switch answer := w >> 32; {
			case m.Kind == variants.Forget:
				fmt.Fprintf(&b, " T%d at #%d", uint32(w), uint32(answer)+s.first)
			case answer != 0:
				fmt.Fprintf(&b, " T%d, yes", uint32(w))
			default:
				fmt.Fprintf(&b, " T%d, no", uint32(w))
			}
		}
		return b.String()
	}
	switch m.Kind {
	case variants.Stand:
		fmt.Fprintf(&b, " %s, two of %d B", tag(m.Tag), variants.Word(e.Payload, 4))
		return b.String()
	case variants.Freed:
		fmt.Fprintf(&b, ", %d uses are over", variants.Word(e.Payload, 0))
		return b.String()
	case variants.Revoke:
		fmt.Fprintf(&b, " %s", tag(m.Tag))
		return b.String()
	case variants.Revoked:
		return b.String()
	}
	fmt.Fprintf(&b, " %s #%d", tag(m.Tag), m.Ticket+s.first)
	switch m.Kind {
	case variants.RTS:
		fmt.Fprintf(&b, ", %d B", variants.Word(e.Payload, 0))
	case variants.EnvD, variants.EnvDS:
		fmt.Fprintf(&b, ", %d B", len(e.Payload))
	case variants.RTR, variants.CTS:
		fmt.Fprintf(&b, ", %d B", variants.Word(e.Payload, 2))
	case variants.CancelReply:
		if m.Flags&variants.Granted != 0 {
			b.WriteString(", yes")
		} else {
			b.WriteString(", no")
		}
	}
	return b.String()
}

// writeLabel names a write; one of a message that does not fit has no data.
func writeLabel(format string, size int) string {
	if size == 0 {
		return "write of no data"
	}
	return fmt.Sprintf(format, size)
}

// show tells what is in flight and how the requests stand.
func (s *Player) show() string {
	var b strings.Builder
	for from := range s.Chart.Names {
		for to := range s.Chart.Names {
			msgs := s.w.InFlight(from, to)
			if len(msgs) == 0 {
				continue
			}
			var list []string
			for _, m := range msgs {
				list = append(list, s.message(m))
			}
			fmt.Fprintf(&b, "in flight %s->%s: %s\n", s.rankName(from), s.rankName(to), strings.Join(list, "; "))
		}
	}
	for _, v := range s.w.Writes() {
		var missing []string
		if !v.Landed {
			missing = append(missing, "not landed")
		} else {
			if !v.Noticed {
				missing = append(missing, "notification not seen")
			}
			if !v.Finished {
				missing = append(missing, "sender does not know")
			}
		}
		fmt.Fprintf(&b, "write %s->%s, %d B: %s\n", s.rankName(v.From), s.rankName(v.To), v.Size,
			strings.Join(missing, ", "))
	}
	b.WriteString(s.open())
	return b.String()
}

// open lists the requests that have not completed and what the protocol says
// they wait for.
func (s *Player) open() string {
	var b strings.Builder
	for rank, name := range s.Chart.Names {
		for _, q := range s.w.Requests(rank) {
			if !q.Done() {
				fmt.Fprintf(&b, "%s: %s is incomplete\n", name, s.names[q])
			}
		}
		var lines []string
		s.w.Protocol(rank).Waiting(func(l string) { lines = append(lines, fmt.Sprintf("   %s\n", l)) })
		slices.Sort(lines)
		for _, l := range lines {
			b.WriteString(l)
		}
	}
	return b.String()
}
