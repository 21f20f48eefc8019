//go:build linux

package meet

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Client is another rank's connection to the server.
type Client struct{ fd int }

// Connect connects to the server of a name and gets the file that it hands out.
// If there is a client, it must Report, even without a file; else the server does not
// know of this rank, which must excuse itself in some other way.
func Connect(name Socket, rank int) (*Client, *os.File, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socket: %w", err)
	}
	if err = greet(fd, name, rank); err == nil {
		var file *os.File
		var known bool
		if file, known, err = fetch(fd); known {
			return &Client{fd}, file, err
		}
	}
	_ = unix.Close(fd)
	return nil, nil, fmt.Errorf("fetch the job's memory: %w", err)
}

func greet(fd int, name Socket, rank int) error {
	for {
		err := unix.Connect(fd, address(name))
		if err == nil {
			break
		} else if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	if err := sameUser(fd); err != nil {
		return err
	}
	return unix.Sendmsg(fd, []byte{byte(rank), byte(rank >> 8), byte(rank >> 16), byte(rank >> 24)}, nil, nil,
		unix.MSG_NOSIGNAL)
}

// fetch also reports whether the server has sent the file.
func fetch(fd int) (file *os.File, known bool, err error) {
	var b [1]byte
	oob := make([]byte, unix.CmsgSpace(4))
	for {
		var n, rights int
		n, rights, _, _, err = unix.Recvmsg(fd, b[:], oob, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil && n == 0 {
			err = errGone
		}
		if err != nil {
			return nil, false, err
		}
		oob = oob[:rights]
		break
	}
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(msgs) != 1 {
		return nil, true, errors.New("no file has come through the socket")
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil || len(fds) != 1 {
		return nil, true, errors.New("no file has come through the socket")
	}
	return os.NewFile(uintptr(fds[0]), "job"), true, nil
}

// Report tells whether this rank has taken its place, and returns whether all have.
// It ends the connection.
func (g *Client) Report(mine bool) (all bool) {
	defer unix.Close(g.fd)
	b := []byte{no}
	if mine {
		b[0] = yes
	}
	if err := unix.Sendmsg(g.fd, b, nil, nil, unix.MSG_NOSIGNAL); err != nil {
		return false
	}
	return receive(g.fd, b) == nil && b[0] == yes && mine
}

var errGone = errors.New("the other end has gone")

// receive fills b; an end of the connection is an error.
func receive(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Read(fd, b)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case n == 0:
			return errGone
		default:
			b = b[n:]
		}
	}
	return nil
}

// poll waits until one of the files can be read, for so many milliseconds, or as
// long as it takes if they are negative.
func poll(fds []int, ms int) (ready []bool, err error) {
	list := make([]unix.PollFd, len(fds))
	for i, fd := range fds {
		list[i] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	}
	for {
		_, err = unix.Poll(list, ms)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	ready = make([]bool, len(fds))
	for i := range list {
		ready[i] = list[i].Revents != 0
	}
	return ready, err
}

// sameUser refuses other users' processes: anybody can see abstract names.
func sameUser(fd int) error {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err == nil && int(cred.Uid) != os.Getuid() {
		err = fmt.Errorf("a process of user %d is at the other end", cred.Uid)
	}
	return err
}
