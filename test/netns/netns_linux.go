// Package netns makes hosts for tests on this machine: network namespaces, joined by networks that a test has in its
// hands. They are made of TUN devices, whose packets go through the test, which passes them on, or loses some, or all
// of a host or a network. So it takes no other programs than nsenter of util-linux, with which processes enter a host;
// but root.
package netns

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Network is some hosts and what joins them: one rail or more, on each of which every host has a device.
type Network struct {
	hosts []*host
	rails []*rail
	loses atomic.Uint32 // of 100 packets
	lost  atomic.Int64
}

type host struct {
	name string
	ns   *os.File   // the namespace
	tuns []*os.File // by rail: all that the host sends and gets
	cut  atomic.Bool
}

type rail struct {
	cut     atomic.Bool
	carried atomic.Int64 // bytes
}

// New makes n hosts, named node0 and so on, which are there until the test has ended. Where that cannot be done, the
// test is skipped, and that says why.
func New(t testing.TB, n int) *Network {
	t.Helper()
	return WithRails(t, n, 1)
}

// WithRails is New with so many rails. The device of a host on a rail is tun0 and so on, and its address Rail's.
func WithRails(t testing.TB, n, rails int) *Network {
	t.Helper()
	w := new(Network)
	for range rails {
		w.rails = append(w.rails, new(rail))
	}
	for i := range n {
		h := &host{name: fmt.Sprintf("node%d", i)}
		made := make(chan error)
		go elsewhere(func() { made <- h.make(i, rails) })
		err := <-made
		t.Cleanup(h.close)
		if err != nil {
			t.Skipf("this machine lets nobody make network namespaces with devices, or not this user: %v", err)
		}
		w.hosts = append(w.hosts, h)
	}
	for _, h := range w.hosts {
		for rail := range rails {
			go w.carry(h, rail)
		}
	}
	return w
}

// Rail is the address of a host on a rail. All of those on a rail are of one prefix, of 24 bits.
func Rail(rail, i int) string { return fmt.Sprintf("10.77.%d.%d", 7+rail, 1+i) }

// Address is that of a port of a host, on the first rail.
func Address(i, port int) string { return net.JoinHostPort(Rail(0, i), strconv.Itoa(port)) }

// elsewhere calls f, which changes the namespace of its thread, on one that ends with this goroutine. The main thread
// would not: the whole process would count as one of that host.
func elsewhere(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		elsewhere(f)
	}()
	<-done // the main thread waits with this goroutine, so the other one has another
	runtime.UnlockOSThread()
}

// make makes the namespace, with a device for each rail that has an address.
func (h *host) make(i, rails int) (err error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if h.ns, err = os.Open("/proc/thread-self/ns/net"); err != nil {
		return err
	}
	type setting struct {
		device  string
		request uint
		address string
	}
	settings := []setting{{"lo", unix.SIOCSIFFLAGS, ""}}
	for rail := range rails {
		device := fmt.Sprintf("tun%d", rail)
		tun, err := newDevice(device)
		if err != nil {
			return err
		}
		h.tuns = append(h.tuns, tun)
		settings = append(settings, setting{device, unix.SIOCSIFADDR, Rail(rail, i)},
			setting{device, unix.SIOCSIFNETMASK, "255.255.255.0"}, setting{device, unix.SIOCSIFFLAGS, ""})
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	for _, set := range settings {
		r, _ := unix.NewIfreq(set.device)
		if set.address == "" {
			r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		} else if err := r.SetInet4Addr(net.ParseIP(set.address).To4()); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(s, set.request, r); err != nil {
			return fmt.Errorf("%s: %w", set.device, err)
		}
	}
	return nil
}

// newDevice makes a TUN device in the namespace of this thread.
func newDevice(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	device, _ := unix.NewIfreq(name)
	device.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, device); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("a TUN device: %w", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (h *host) close() {
	for _, tun := range h.tuns {
		_ = tun.Close()
	}
	if h.ns != nil {
		_ = h.ns.Close()
	}
}

// carry takes what a host sends on a rail to where it goes, until its device is closed.
func (w *Network) carry(from *host, number int) {
	rail, b := w.rails[number], make([]byte, 1<<16)
	for {
		n, err := from.tuns[number].Read(b)
		if err != nil {
			return
		}
		if n < 20 || b[0]>>4 != 4 { // not of IPv4
			continue
		}
		to := int(binary.BigEndian.Uint32(b[16:])&0xff) - 1
		if to < 0 || to >= len(w.hosts) {
			continue
		}
		if from.cut.Load() || w.hosts[to].cut.Load() || rail.cut.Load() || rand.Uint32N(100) < w.loses.Load() {
			w.lost.Add(1)
			continue
		}
		rail.carried.Add(int64(n))
		_, _ = w.hosts[to].tuns[number].Write(b[:n]) // what the host does not take is lost
	}
}

// Lose loses so many of 100 packets from now on, at random.
func (w *Network) Lose(percent uint32) { w.loses.Store(percent) }

// Lost is how many packets have been lost, by Lose, Cut or CutRail.
func (w *Network) Lost() int64 { return w.lost.Load() }

// Cut takes a host off the network, or puts it back.
func (w *Network) Cut(i int, off bool) { w.hosts[i].cut.Store(off) }

// CutRail cuts a rail between all hosts, or mends it.
func (w *Network) CutRail(i int, off bool) { w.rails[i].cut.Store(off) }

// Carried is how many bytes the hosts have sent to each other over a rail, with all headers of IP.
func (w *Network) Carried(i int) int64 { return w.rails[i].carried.Load() }

// Enter is a command that runs another one on a host.
func (w *Network) Enter(i int) []string {
	return []string{"nsenter", fmt.Sprintf("--net=/proc/%d/fd/%d", os.Getpid(), w.hosts[i].ns.Fd()), "--"}
}

// Shell is a script for sh that does what a remote shell does: its arguments are the name of a host and a command.
func (w *Network) Shell() string {
	var b strings.Builder
	b.WriteString("h=$1; shift; case $h in\n")
	for i, h := range w.hosts {
		fmt.Fprintf(&b, "%s) exec %s sh -c \"$*\" ;;\n", h.name, strings.Join(w.Enter(i), " "))
	}
	b.WriteString("*) echo \"there is no host $h\" >&2; exit 255 ;; esac")
	return b.String()
}

// Do calls f on a host: what it opens there is of that host's network.
func (w *Network) Do(i int, f func()) {
	done := make(chan error)
	go elsewhere(func() {
		err := unix.Setns(int(w.hosts[i].ns.Fd()), unix.CLONE_NEWNET)
		if err == nil {
			f()
		}
		done <- err
	})
	if err := <-done; err != nil {
		panic(err) // it has made the namespace
	}
}

// Kill kills all processes of a host.
func (w *Network) Kill(t testing.TB, i int) {
	t.Helper()
	var ns unix.Stat_t
	if err := unix.Fstat(int(w.hosts[i].ns.Fd()), &ns); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		var its unix.Stat_t
		if err == nil && unix.Stat("/proc/"+e.Name()+"/ns/net", &its) == nil && its.Ino == ns.Ino && its.Dev == ns.Dev {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// Listening are the TCP ports that somebody listens at on a host.
func (w *Network) Listening(t testing.TB, i int) (ports []int) {
	t.Helper()
	var text []byte
	var err error
	w.Do(i, func() {
		for _, of := range []string{"tcp", "tcp6"} {
			b, e := os.ReadFile("/proc/thread-self/net/" + of)
			if e != nil && of == "tcp" {
				err = e
			}
			text = append(text, b...)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	const listen = "0A"
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line) // number, local address:port, other address:port, state
		if len(f) < 4 || f[3] != listen {
			continue
		}
		_, port, _ := strings.Cut(f[1], ":")
		if p, err := strconv.ParseInt(port, 16, 32); err == nil {
			ports = append(ports, int(p))
		}
	}
	return ports
}
