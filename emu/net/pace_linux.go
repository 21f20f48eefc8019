package net

import "golang.org/x/sys/unix"

// Some hosts have bbr for congestion control. It spreads what is sent over time, by what it believes that a path on the
// internet can take; that is far below what a network between hosts of a job can. So connections have another one,
// until they prove to lose many packets: there bbr is by far the better.

const (
	paced = "bbr"
	quick = "reno" // every kernel has it, for everybody; on short ways it gains speed as quickly as others
)

// unpace replaces the congestion control of a connection if that is paced, and reports whether it has.
func unpace(fd int) bool {
	if now, _ := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION); now != paced {
		return false
	}
	return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, quick) == nil
}

// A connection loses many packets if it has repeated at least lossLeast, and one of lossShare.
const (
	lossLeast = 8
	lossShare = 50
)

// repace takes back what unpace did on a connection that loses many packets.
func (l *link) repace(info *unix.TCPInfo) {
	if l.unpaced && info.Total_retrans >= lossLeast && info.Total_retrans*lossShare > info.Segs_out {
		l.unpaced = unix.SetsockoptString(l.fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, paced) != nil
	}
}
