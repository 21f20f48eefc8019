//go:build linux

package meet

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"

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
	absent := 0
	var callers []int // whose ranks have not come: nobody waits for who connects and says nothing
	defer func() {
		for _, fd := range callers {
			_ = unix.Close(fd)
		}
	}()
	for len(s.clients)+absent < n-1 {
		ready, err := poll(append(callers, s.listener), 5)
		switch {
		case err != nil:
			return err
		case !slices.Contains(ready, true):
			absent += excused()
			continue
		}
		waiting := callers[:0]
		for i, fd := range callers {
			if !ready[i] {
				waiting = append(waiting, fd)
			} else if rank, err := s.admit(fd, file); err == nil {
				s.clients[rank] = fd
			} else {
				_ = unix.Close(fd)
			}
		}
		if callers = waiting; !ready[len(ready)-1] {
			continue
		}
		fd, _, err := unix.Accept4(s.listener, unix.SOCK_CLOEXEC)
		if err == nil {
			callers = append(callers, fd)
		} else if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.ECONNABORTED) && !errors.Is(err, unix.EINTR) {
			// There is no descriptor for a client, who is told by the end of its
			// connection, and excuses itself.
			s.stop()
		}
	}
	s.stop()
	if absent > 0 {
		return fmt.Errorf("%d of %d ranks could not get the job's memory", absent, n)
	}
	return nil
}

// admit gives the file to a client that has said something, and returns its rank.
func (s *Server) admit(fd int, file *os.File) (int, error) {
	if err := sameUser(fd); err != nil {
		return 0, err
	}
	var rank [4]byte
	if n, _, err := unix.Recvfrom(fd, rank[:], unix.MSG_DONTWAIT); n < len(rank) {
		return 0, errors.Join(errGone, err)
	}
	err := unix.Sendmsg(fd, []byte{yes}, unix.UnixRights(int(file.Fd())), nil, unix.MSG_NOSIGNAL)
	return int(binary.LittleEndian.Uint32(rank[:])), err
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
