package meet

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long the ranks, which are all in MPI_Init, wait for each other.
const patience = 30 * time.Second

// Offer is a file that is being handed to a number of processes of this user.
type Offer struct {
	l    *net.UnixListener
	done chan error
}

func address(name []byte) *net.UnixAddr {
	return &net.UnixAddr{Name: "@exanet-" + hex.EncodeToString(name), Net: "unix"}
}

// Give begins to hand out file, so many times, under a name that others cannot
// guess. It may be closed when Wait has returned.
func Give(file *os.File, name []byte, times int) (*Offer, error) {
	l, err := net.ListenUnix("unix", address(name))
	if err != nil {
		return nil, err
	}
	d := &Offer{l, make(chan error, 1)}
	go func() {
		defer l.Close()
		d.done <- d.serve(file, times)
	}()
	return d, nil
}

func (d *Offer) serve(file *os.File, times int) error {
	if err := d.l.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	rights := unix.UnixRights(int(file.Fd()))
	for given := 0; given < times; {
		c, err := d.l.AcceptUnix()
		if err != nil {
			return fmt.Errorf("%d of %d ranks have come for the job's memory: %w", given, times, err)
		}
		if err := sameUser(c); err == nil {
			if _, _, err := c.WriteMsgUnix([]byte{1}, rights, nil); err == nil {
				given++
			}
		}
		c.Close()
	}
	return nil
}

// Wait returns when everybody has the file, or has not come for it in time.
func (d *Offer) Wait() error { return <-d.done }

// Close takes the offer back. It may be nil.
func (d *Offer) Close() {
	if d != nil {
		d.l.Close()
	}
}

// Fetch gets the file that is handed out under a name.
func Fetch(name []byte) (*os.File, error) {
	c, err := net.DialUnix("unix", nil, address(name))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := sameUser(c); err != nil {
		return nil, err
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	var b [1]byte
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := c.ReadMsgUnix(b[:], oob)
	if err != nil {
		return nil, err
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(msgs) != 1 {
		return nil, fmt.Errorf("no file has come through the socket: %w", err)
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("no file has come through the socket: %w", err)
	}
	unix.CloseOnExec(fds[0])
	return os.NewFile(uintptr(fds[0]), "job"), nil
}

// sameUser refuses other users' processes: anybody can see abstract names.
func sameUser(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var e error
	if err := raw.Control(func(fd uintptr) { cred, e = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return err
	}
	if e == nil && int(cred.Uid) != os.Getuid() {
		e = fmt.Errorf("a process of user %d is at the other end", cred.Uid)
	}
	return e
}
