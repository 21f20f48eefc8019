package meet

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// What goes over a connection, each once: the guest's rank; the file; whether the
// guest has taken its place; whether all have.
const (
	yes = 1
	no  = 0
)

// Table is where rank 0 receives the others. All connections stay open until
// the verdict: who goes away is noticed.
type Table struct {
	listener int
	guests   map[int]int // file descriptors by rank
	results  chan bool
}

func address(name []byte) *unix.SockaddrUnix {
	return &unix.SockaddrUnix{Name: "@exanet-" + hex.EncodeToString(name)}
}

// Open begins to listen at a name that others cannot guess.
func Open(name []byte, ranks int) (*Table, error) {
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
	return &Table{listener: fd, guests: make(map[int]int)}, nil
}

// Serve gives the file to ranks 1 to n-1, whoever comes. excused, which is called
// now and then, returns how many have said in some other way that they cannot
// come: if any, nobody is to take a place.
func (t *Table) Serve(file *os.File, n int, excused func() int) error {
	rights := unix.UnixRights(int(file.Fd()))
	absent := 0
	for len(t.guests)+absent < n-1 {
		if ready, err := poll([]int{t.listener}, 5); err != nil {
			return err
		} else if !ready[0] {
			absent += excused()
			continue
		}
		fd, _, err := unix.Accept4(t.listener, unix.SOCK_CLOEXEC)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ECONNABORTED) || errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			// There is no descriptor for a guest, who is told by the end of its
			// connection, and excuses itself.
			t.stop()
			for len(t.guests)+absent < n-1 {
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
		t.guests[int(rank[0])|int(rank[1])<<8|int(rank[2])<<16|int(rank[3])<<24] = fd
	}
	t.stop()
	if absent > 0 {
		return fmt.Errorf("%d of %d ranks could not get the job's memory", absent, n)
	}
	return nil
}

// Watch takes the guests' results, in the background. failed is told at once who
// will not take its place, for the others wait for it.
func (t *Table) Watch(failed func(rank int)) {
	t.results = make(chan bool, 1)
	waiting := make(map[int]int)
	for rank, fd := range t.guests {
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
		t.results <- all
	}()
}

// Verdict tells the guests, after Watch, whether all have taken their places, rank 0
// as well, and returns that.
func (t *Table) Verdict(mine bool) bool {
	all := <-t.results && mine
	b := []byte{no}
	if all {
		b[0] = yes
	}
	for _, fd := range t.guests {
		_ = unix.Sendmsg(fd, b, nil, nil, unix.MSG_NOSIGNAL)
	}
	return all
}

// Close ends all connections, which tells those who wait that nothing will come
// of it. t may be nil.
func (t *Table) Close() {
	if t == nil {
		return
	}
	t.stop()
	for _, fd := range t.guests {
		_ = unix.Close(fd)
	}
	t.guests = nil
}

func (t *Table) stop() {
	if t.listener >= 0 {
		_ = unix.Close(t.listener)
		t.listener = -1
	}
}
