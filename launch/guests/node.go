//go:build linux

package guests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/exanet-mpi/exanet/emu/regs/owners"
	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/launch/guests/wire"
)

// Node is a guest.
type Node struct {
	Number int
	guests *Guests
	ram    *os.File
	bar    *os.File
	gone   chan struct{} // closed when it has ended
	err    error         // valid then: how
	keys   keyboard      // of its console

	mu       sync.Mutex // of what follows
	process  *os.Process
	line     io.Writer // its serial line
	conn     net.Conn
	out      *json.Encoder
	last     int // ID of a program
	programs map[int]*Program
}

// ErrGone is the error of whatever is asked of a guest that has ended.
var ErrGone = errors.New("the guest has ended")

// Kill ends the guest at once, as a power failure would.
func (n *Node) Kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil {
		_ = n.process.Kill()
	}
}

// over is called when the guest has ended. Nobody is left there who would free the
// registers, and so tell the other nodes.
func (n *Node) over(err error) {
	n.mu.Lock()
	n.err = err
	close(n.gone)
	if n.conn != nil {
		_ = n.conn.Close()
	}
	for id, p := range n.programs {
		delete(n.programs, id)
		p.ended(wire.Exit{ID: id, Code: -1, Text: ErrGone.Error()})
	}
	n.mu.Unlock()
	st, err := n.bar.Stat()
	if err != nil {
		return
	}
	file, err := mmio.Map(n.bar, 0, int(st.Size()))
	if err != nil {
		return
	}
	defer file.Close()
	for _, p := range owners.Pages(file) {
		p.Reg(mmio.RegOwner).Store(0)
	}
}

// helloTime is how long a guest may take from the connection to its first message.
const helloTime = 10 * time.Second

// greet finds out which guest has connected, if it is one.
func (g *Guests) greet(c net.Conn, token string) bool {
	in := json.NewDecoder(c)
	var m wire.Message
	_ = c.SetDeadline(time.Now().Add(helloTime))
	if in.Decode(&m) != nil || m.Hello == nil || m.Hello.Token != token || m.Hello.Node < 0 ||
		m.Hello.Node >= len(g.Nodes) {
		return false
	}
	_ = c.SetDeadline(time.Time{})
	n := g.Nodes[m.Hello.Node]
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conn != nil {
		return false
	}
	n.conn, n.out = c, json.NewEncoder(c)
	go n.listen(in)
	return true
}

// say sends a message to the guest.
func (n *Node) say(m wire.Message) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.gone:
		return fmt.Errorf("node %d: %w", n.Number, ErrGone)
	default:
	}
	return n.out.Encode(m)
}

// listen takes what the guest says, until it ends.
func (n *Node) listen(in *json.Decoder) {
	for {
		var m wire.Message
		if in.Decode(&m) != nil {
			n.Kill() // whatever has become of the connection, the guest is of no more use
			return
		}
		switch {
		case m.Output != nil:
			n.mu.Lock()
			p := n.programs[m.Output.ID]
			n.mu.Unlock()
			if p != nil {
				p.print(*m.Output)
			}
		case m.Exit != nil:
			n.mu.Lock()
			if p := n.programs[m.Exit.ID]; p != nil {
				delete(n.programs, m.Exit.ID)
				p.ended(*m.Exit)
			}
			n.mu.Unlock()
		case m.Job != nil:
			go n.asked(*m.Job)
		}
	}
}

// Wait waits until the guest has ended, or ctx has.
func (n *Node) Wait(ctx context.Context) error {
	select {
	case <-n.gone:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
