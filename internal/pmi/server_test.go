package pmi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// server is a launcher that speaks PMI-1. What is put is to be got after the next barrier.
type server struct {
	size, keyMax, valueMax int
	piece                  int // bytes of an answer that it writes at once, 0: all

	mu      sync.Mutex
	put     map[string]string
	seen    map[string]string
	waiting []io.Writer // in the barrier
	left    int         // ranks that have finalized
	aborted string      // what was said with it
}

func newServer(size, keyMax, valueMax, piece int) *server {
	return &server{size: size, keyMax: keyMax, valueMax: valueMax, piece: piece,
		put: map[string]string{}, seen: map[string]string{}}
}

// serve answers one rank until it leaves.
func (s *server) serve(conn io.ReadWriteCloser) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		fields := map[string]string{}
		for field := range strings.FieldsSeq(line) {
			name, value, _ := strings.Cut(field, "=")
			fields[name] = value
		}
		if len(line) > maxRequest || in.Buffered() > 0 {
			s.say(conn, "cmd=error rc=-1 msg=line_of_%d_bytes_and_%d_more", len(line), in.Buffered())
			return
		}
		if !s.handle(conn, fields) {
			return
		}
	}
}

func (s *server) handle(conn io.Writer, fields map[string]string) (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch cmd := fields["cmd"]; cmd {
	case "initack":
		s.say(conn, "cmd=initack\ncmd=set size=%d\ncmd=set rank=%s\ncmd=set debug=0", s.size, fields["pmiid"])
	case "init":
		s.say(conn, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0")
	case "get_maxes":
		s.say(conn, "cmd=maxes kvsname_max=256 keylen_max=%d vallen_max=%d", s.keyMax, s.valueMax)
	case "get_my_kvsname":
		s.say(conn, "cmd=my_kvsname kvsname=space_1")
	case "put":
		k := fields["key"]
		_, pending := s.put[k]
		_, known := s.seen[k]
		if pending || known || len(k) >= s.keyMax || len(fields["value"]) >= s.valueMax ||
			fields["kvsname"] != "space_1" {
			s.say(conn, "cmd=put_result rc=-1 msg=bad_entry_%s", k)
			break
		}
		s.put[k] = fields["value"]
		s.say(conn, "cmd=put_result rc=0 msg=success")
	case "barrier_in":
		if s.waiting = append(s.waiting, conn); len(s.waiting) < s.size {
			break
		}
		for k, v := range s.put {
			s.seen[k] = v
		}
		clear(s.put)
		for _, w := range s.waiting {
			s.say(w, "cmd=barrier_out")
		}
		s.waiting = nil
	case "get":
		if v, ok := s.seen[fields["key"]]; ok {
			s.say(conn, "cmd=get_result rc=0 msg=success value=%s", v)
		} else {
			s.say(conn, "cmd=get_result rc=-1 msg=key_%s_not_found value=unknown", fields["key"])
		}
	case "finalize":
		s.left++
		s.say(conn, "cmd=finalize_ack")
		return false
	case "abort":
		s.aborted = fields["exitcode"]
		return false
	}
	return true
}

// say writes a line, in pieces.
func (s *server) say(w io.Writer, format string, args ...any) {
	b := fmt.Appendf(nil, format+"\n", args...)
	for len(b) > 0 {
		n := len(b)
		if s.piece > 0 {
			n = min(n, s.piece)
		}
		if _, err := w.Write(b[:n]); err != nil {
			return
		}
		b = b[n:]
	}
}

// environment keeps what Open reads for the end of the test, and empties it.
func environment(t *testing.T) {
	for _, name := range []string{descriptorVar, rankVar, sizeVar, portVar, idVar, "PMIX_NAMESPACE"} {
		t.Setenv(name, "")
	}
}

func setenv(t require.TestingT, name string, value any) {
	require.NoError(t, os.Setenv(name, fmt.Sprint(value)))
}

// pair sets the environment for a rank and returns the launcher's end of its connection. The other is Open's.
func pair(t require.TestingT, rank, size int) *os.File {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	setenv(t, descriptorVar, ends[0])
	setenv(t, rankVar, rank)
	setenv(t, sizeVar, size)
	require.NoError(t, unix.SetNonblock(ends[1], true))
	return os.NewFile(uintptr(ends[1]), "launcher")
}

// connect opens a client for each rank, by its descriptor or by a port.
func (s *server) connect(ctx context.Context, t require.TestingT, port bool) (clients []*Client) {
	var l net.Listener
	if port {
		var err error
		l, err = net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		setenv(t, portVar, l.Addr())
		defer setenv(t, portVar, "")
	}
	for rank := range s.size {
		if port {
			setenv(t, descriptorVar, "")
			setenv(t, idVar, rank)
			go func() {
				if conn, err := l.Accept(); err == nil {
					s.serve(conn)
				}
			}()
		} else {
			go s.serve(pair(t, rank, s.size))
		}
		c, err := Open(ctx)
		require.NoError(t, err)
		require.Equal(t, []string{strconv.Itoa(rank), strconv.Itoa(s.size), "space_1"},
			[]string{strconv.Itoa(c.Rank), strconv.Itoa(c.Size), c.Job})
		clients = append(clients, c)
	}
	return clients
}
