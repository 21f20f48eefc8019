//go:build linux

package meet

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// What goes over a connection, each once: the client's rank; the file; whether the
// client has taken its place; whether all have.
const (
	yes = 1
	no  = 0
)

// Server is where the first rank of a host receives the others. All connections stay open until
// the outcome: who goes away is noticed.
type Server struct {
	listener int
	clients  map[int]int // file descriptors by rank
	results  chan bool
}

func address(name Socket) *unix.SockaddrUnix {
	return &unix.SockaddrUnix{Name: "@exanet-" + hex.EncodeToString(name[:])}
}

// Open begins to listen.
func Open(name Socket, ranks int) (*Server, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	if err = unix.Bind(fd, address(name)); err == nil {
		err = unix.Listen(fd, ranks)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("listen: %w", err)
	}
	return &Server{listener: fd, clients: make(map[int]int)}, nil
}

// Serve gives the file to n-1 other ranks, whoever comes. excused, which is called
// now and then, returns how many have said in some other way that they cannot
// come: if any, nobody is to take a place.
func (s *Server) Serve(file *os.File, n int, excused func() int) error {
	rights := unix.UnixRights(int(file.Fd()))
	absent := 0
	for len(s.clients)+absent < n-1 {
		if ready, err := poll([]int{s.listener}, 5); err != nil {
			return err
		} else if !ready[0] {
			absent += excused()
			continue
		}
		fd, _, err := unix.Accept4(s.listener, unix.SOCK_CLOEXEC)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ECONNABORTED) || errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			// There is no descriptor for a client, who is told by the end of its
			// connection, and excuses itself.
			s.stop()
			for len(s.clients)+absent < n-1 {
				absent += excused()
				_, _ = poll(nil, 5)
			}
			break
		}
		var rank [4]byte
		if err = sameUser(fd); err == nil {
			err = receive(fd, rank[:])
		}
		if err == nil {
			err = unix.Sendmsg(fd, []byte{yes}, rights, nil, unix.MSG_NOSIGNAL)
		}
		if err != nil {
			_ = unix.Close(fd)
			continue
		}
		s.clients[int(rank[0])|int(rank[1])<<8|int(rank[2])<<16|int(rank[3])<<24] = fd
	}
	s.stop()
	if absent > 0 {
		return fmt.Errorf("%d of %d ranks could not get the job's memory", absent, n)
	}
	return nil
}

// Watch takes the clients' results, in the background. failed is told at once who
// will not take its place, for the others wait for it.
func (s *Server) Watch(failed func(rank int)) {
	s.results = make(chan bool, 1)
	waiting := make(map[int]int)
	for rank, fd := range s.clients {
		waiting[rank] = fd
	}
	go func() {
		all := true
		for len(waiting) > 0 {
			var ranks, fds []int
			for rank, fd := range waiting {
				ranks, fds = append(ranks, rank), append(fds, fd)
			}
			ready, err := poll(fds, -1)
			for i, rank := range ranks {
				if err == nil && !ready[i] {
					continue
				}
				var b [1]byte
				if err != nil || receive(fds[i], b[:]) != nil || b[0] != yes {
					all = false
					failed(rank)
				}
				delete(waiting, rank)
			}
		}
		s.results <- all
	}()
}

// Outcome tells the clients, after Watch, whether all have taken their places, this rank
// as well, and returns that.
func (s *Server) Outcome(mine bool) bool {
	all := <-s.results && mine
	b := []byte{no}
	if all {
		b[0] = yes
	}
	for _, fd := range s.clients {
		_ = unix.Sendmsg(fd, b, nil, nil, unix.MSG_NOSIGNAL)
	}
	return all
}

// Close ends all connections, which tells those who wait that nothing will come
// of it. s may be nil.
func (s *Server) Close() {
	if s == nil {
		return
	}
	s.stop()
	for _, fd := range s.clients {
		_ = unix.Close(fd)
	}
	s.clients = nil
}

func (s *Server) stop() {
	if s.listener >= 0 {
		_ = unix.Close(s.listener)
		s.listener = -1
	}
}
