// Package scenario plays small text files that say what ranks do and in which
// order the devices move what they send, and draws what happens as a message
// chart. The figures of the thesis are such files, in variants/testdata, and so
// is a counterexample that package check/explore finds.
//
// A file has the form of github.com/cockroachdb/datadriven: a directive, lines
// of input, a line of four dashes, and the output. There are three directives:
//
//	ranks S R variant=ticket     begins a world; also limit=, capacity=, pieces=, window=, room=
//	play                         plays the lines below it
//	check                        tests a world in which nothing is left to happen
//
// The lines of play, each optionally after a time as in t1:
//
//	S send to=R tag=T1 size=100 as=s1     also isend, ssend, issend
//	R recv from=S tag=T1 size=100 as=r1   also irecv; from=any, tag=any
//	R probe from=S tag=T1                 also iprobe
//	R improbe from=S tag=T1 size=100 as=m1   a matched probe, and room for what it finds
//	R mrecv m1
//	S cancel s1
//	R free            closes the communicator; open opens it in its next generation
//	deliver S->R     the oldest message from S to R arrives
//	write S->R       the data of the oldest write lands; half: a first half of it
//	notify R         R looks at the notification of the oldest write that has landed
//	done S           S learns that the oldest of its writes is done
//	S fast isend ...  an operation on the fast path, if the protocol has leased the channel
//	R direct recv ... one that looks at the mailbox first
//	poll S->R        R's fast path takes the oldest message from S
//	enter R          R enters the protocol, which posts what is pending on the fast path
//	flush S          S tries again to send what a full mailbox has refused
//	run              everything that is in flight happens
//	close            what package check/world does when nothing is left to happen
//	show             what is in flight, and the state of the requests
//
// Where several writes could be meant, a number at the end says which.
//
// Tickets are shown as #1, #2, ... as in thesis 3.5; on the wire they count from
// zero.
package scenario

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/exanet-mpi/exanet/check/chart"
	"github.com/exanet-mpi/exanet/check/world"
)

// Player is a scenario under way.
type Player struct {
	Chart chart.Chart

	w       *world.World
	names   map[*world.Request]string
	byName  map[string]*world.Request
	blocked map[int]*world.Request
	arrows  map[int]int // by ID of message or write
	landed  map[int]int // row in which a write landed
	time    string
	first   uint32   // what is added to the numbers of envelopes
	about   []string // the comment at the head of the file
	wrong   bool
	pending string // name of the request that is being posted
	how     string // and in which way, if not by the protocol alone
}

// Exec executes a directive and returns its output.
func (s *Player) Exec(cmd string, args []string, input string) (string, error) {
	switch cmd {
	case "ranks":
		return "", s.begin(args)
	case "play", "check":
		if s.w == nil {
			return "", fmt.Errorf("%s comes before ranks", cmd)
		}
	default:
		return "", fmt.Errorf("unknown directive %q (there are ranks, play and check)", cmd)
	}
	if cmd == "check" {
		return s.check(), nil
	}
	from := len(s.Chart.Rows)
	var out strings.Builder
	for _, line := range strings.Split(input, "\n") {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		shown, err := s.line(line)
		if err != nil {
			return "", fmt.Errorf("%q: %w", line, err)
		}
		s.violation()
		if shown != "" {
			out.WriteString(s.Chart.Text(from) + shown)
			from = len(s.Chart.Rows)
		}
	}
	out.WriteString(s.Chart.Text(from))
	return out.String(), nil
}

// begin makes a world: ranks NAMES... variant=V.
func (s *Player) begin(args []string) error {
	*s = Player{names: map[*world.Request]string{}, byName: map[string]*world.Request{},
		blocked: map[int]*world.Request{}, arrows: map[int]int{}, landed: map[int]int{}}
	p := world.Protocols[0]
	var limit, capacity, pieces, mortal, doubts, broken, window, room int
	for _, a := range args {
		k, v, has := strings.Cut(a, "=")
		var err error
		switch {
		case !has:
			s.Chart.Names = append(s.Chart.Names, k)
		case k == "variant":
			p, err = world.ProtocolNamed(v)
		case k == "limit":
			limit, err = strconv.Atoi(v)
		case k == "capacity":
			capacity, err = strconv.Atoi(v)
		case k == "pieces":
			pieces, err = strconv.Atoi(v)
		case k == "mortal":
			mortal, err = strconv.Atoi(v)
		case k == "doubts":
			doubts, err = strconv.Atoi(v)
		case k == "window":
			window, err = strconv.Atoi(v)
		case k == "room":
			room, err = strconv.Atoi(v)
		case k == "broken":
			broken, err = strconv.Atoi(v)
		default:
			err = fmt.Errorf("unknown argument %q", a)
		}
		if err != nil {
			return err
		}
	}
	if n := len(s.Chart.Names); n < 2 || n > 4 {
		return fmt.Errorf("a world has two to four ranks, as in: ranks S R variant=ticket")
	}
	if limit < 0 || limit > 40 || capacity < 0 || pieces < 0 || pieces > 2 {
		return fmt.Errorf("limit is at most 40, capacity at least 0, pieces 1 or 2")
	}
	if p.Tickets {
		s.first = 1
	}
	cfg := p.Config(len(s.Chart.Names))
	cfg.Limit, cfg.Capacity, cfg.Pieces = limit, capacity, pieces
	cfg.Mortal, cfg.Doubts, cfg.Broken = min(max(mortal, 0), cfg.Ranks), doubts != 0, broken != 0
	cfg.Window, cfg.Room = int64(max(window, 0)), max(room, 0)
	s.w = world.New(cfg, nil)
	s.w.Log = s.note
	return nil
}

// check applies the rules for a world in which nothing is left to happen.
func (s *Player) check() string {
	if n := len(s.w.Enabled(nil)); n > 0 {
		return fmt.Sprintf("%d things are still in flight\n%s", n, s.show())
	}
	open := s.open()
	s.w.Log = nil
	s.w.Settled()
	if s.w.Violation() == nil {
		s.w.Close()
	}
	s.w.Log = s.note
	if v := s.w.Violation(); v != nil {
		return "WRONG: " + v.Error() + "\n"
	}
	if open == "" {
		return "ok: everything has completed as MPI says\n"
	}
	return "ok: what is incomplete has no counterpart\n" + open
}

// violation notes, once, that something went wrong.
func (s *Player) violation() {
	if v := s.w.Violation(); v != nil && !s.wrong {
		s.wrong = true
		s.Chart.Add(chart.Row{Kind: chart.Wrong, Rank: v.Rank, Text: v.What})
	}
}

// takeTime returns the time of the line that is being played, once.
func (s *Player) takeTime() string {
	t := s.time
	s.time = ""
	return t
}

// note turns what happens into rows.
func (s *Player) note(e world.Event) {
	row := chart.Row{Rank: e.Rank}
	switch e.Kind {
	case world.Began:
		switch a := e.Action; {
		case e.Closing:
			return
		case a.Kind == world.Fast || a.Kind == world.Direct:
			s.how = map[world.ActionKind]string{world.Fast: ", on the fast path",
				world.Direct: ", looks at the mailbox first"}[a.Kind]
			return
		case a.Kind == world.Enter:
			row.Rank, row.Text = int(a.From), "enters the protocol"
		case a.Kind == world.Die:
			row.Rank, row.Text = int(a.From), "dies"
		case a.Kind == world.Tell:
			row.Rank, row.Text = int(a.To), fmt.Sprintf("is told that %s has died", s.rankName(int(a.From)))
		case a.Kind == world.Doubt:
			row.Rank, row.Text = int(a.From), "has waited for long"
		default:
			return
		}
	case world.Posted:
		row.Text = s.call(e.Request) + s.how
		s.how = ""
	case world.Asked:
		row.Text = "cancel " + s.names[e.Request]
	case world.Taken:
		row.Text = "mrecv " + s.names[e.Request]
	case world.Renewed:
		row.Text = e.Op.String() + " the communicator"
	case world.Probed:
		row.Kind, row.Text = chart.Outcome, s.probed(e)+s.how
		s.how = ""
	case world.Completed:
		row.Kind, row.Text = chart.Outcome, s.outcome(e)
	case world.Sent:
		s.arrows[e.ID] = s.Chart.Leave(s.takeTime(), chart.Arrow{Kind: chart.Message, From: e.Rank, To: e.Peer,
			Label: s.message(e)})
		return
	case world.Delivered:
		s.Chart.Arrive(s.takeTime(), s.arrows[e.ID], s.message(e))
		return
	case world.Started:
		if e.Reader {
			row.Rank, row.Text = e.Peer, fmt.Sprintf("copies %d B, unless %s does", e.Size, s.rankName(e.Rank))
			break
		}
		if e.Agent {
			cts := fmt.Sprintf("CTS %s, %d B, for the agent", tag(e.Notice[1]), e.Size)
			s.Chart.Arrive("", s.Chart.Leave(s.takeTime(), chart.Arrow{Kind: chart.Message, From: e.Peer, To: e.Rank,
				Label: cts}), cts)
		}
		s.arrows[e.ID] = s.Chart.Leave(s.takeTime(), chart.Arrow{Kind: chart.Write, From: e.Rank, To: e.Peer,
			Label: writeLabel("write of %d B", e.Size)})
		return
	case world.Landed:
		label := writeLabel("write, %d B", e.Size)
		if !e.All {
			label += " of it"
		}
		if _, left := s.arrows[e.ID]; !left { // the reader's copy
			s.arrows[e.ID] = s.Chart.Leave("", chart.Arrow{Kind: chart.Write, From: e.Peer, To: e.Rank,
				Label: writeLabel("copy of %d B", e.Size)})
		}
		s.Chart.Arrive(s.takeTime(), s.arrows[e.ID], label)
		s.landed[e.ID] = len(s.Chart.Rows) - 1
		return
	case world.Noticed:
		label := fmt.Sprintf("[%d, %s, rts_sent %d]", e.Notice.Size(), tag(e.Notice[1]), e.Notice[2])
		if e.Stands {
			label = fmt.Sprintf("[%d, #%d]", e.Notice.Size(), uint32(e.Notice[1])+s.first)
		}
		s.Chart.Arrows = append(s.Chart.Arrows, chart.Arrow{Kind: chart.Notice, From: e.Peer, To: e.Rank,
			FromRow: s.landed[e.ID], ToRow: -1})
		s.Chart.Arrive(s.takeTime(), len(s.Chart.Arrows)-1, label)
		return
	default:
		return
	}
	row.Time = s.takeTime()
	s.Chart.Add(row)
}
