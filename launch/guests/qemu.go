//go:build linux

package guests

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/exanet-mpi/exanet/internal/sys"
)

const (
	qemuProgram = "qemu-system-aarch64"
	kernelFile  = "vmlinuz"
)

// findQEMU says what to install if it is missing.
func findQEMU() (string, error) {
	path, err := exec.LookPath(qemuProgram)
	if err != nil {
		return "", fmt.Errorf("please install QEMU for ARM64 (Debian: apt-get install qemu-system-arm): %w", err)
	}
	return path, nil
}

// machine is a guest to be.
type machine struct {
	qemu    string
	cfg     Config
	node    *Node
	console io.ReadWriter
	between *os.File          // the network to the other guest
	said    map[string]string // on the kernel's command line
}

// The descriptors of the memory files and of the network in QEMU.
const (
	ramFD = 3 + iota
	barFD
	imageFD
	betweenFD
)

// command is the command that runs the guest.
//
// One processor, since the blocks need no more, but room for two: of a machine that can never
// have a second one QEMU leaves out the atomicity of instructions, which the host sees. And a
// Cortex-A53, as the prototype has it, also because it boots in a fraction of the time of
// QEMU's own model.
func (m machine) command() (*exec.Cmd, error) {
	file := func(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }
	line := "console=ttyAMA0 quiet panic=-1"
	for _, key := range slices.Sorted(maps.Keys(m.said)) {
		if m.said[key] != "" {
			line += " " + key + "=" + m.said[key]
		}
	}
	bar, err := m.node.bar.Stat()
	if err != nil {
		return nil, err
	}
	args := []string{
		"-M", "virt,memory-backend=ram", "-cpu", "cortex-a53", "-smp", "1,maxcpus=2", "-m", fmt.Sprint(m.cfg.Memory),
		"-accel", "tcg", "-nodefaults", "-display", "none", "-monitor", "none", "-serial", "stdio", "-no-reboot",
		"-object", fmt.Sprintf("memory-backend-file,id=ram,share=on,mem-path=%s,size=%dM", file(ramFD), m.cfg.Memory),
		"-object", fmt.Sprintf("memory-backend-file,id=bar,share=on,mem-path=%s,size=%d", file(barFD), bar.Size()),
		"-device", "ivshmem-plain,memdev=bar",
		"-kernel", filepath.Join(m.cfg.Kernel, kernelFile), "-initrd", file(imageFD), "-append", line,
		"-netdev", "user,id=host,ipv6=off", "-device", "virtio-net-pci,netdev=host,romfile=",
	}
	files := []*os.File{ramFD - 3: m.node.ram, barFD - 3: m.node.bar, imageFD - 3: m.cfg.Image}
	if m.between != nil {
		mac := fmt.Sprintf("52:54:00:12:35:%02x", m.node.Number)
		args = append(args, "-netdev", fmt.Sprintf("socket,id=other,fd=%d", betweenFD),
			"-device", "virtio-net-pci,netdev=other,romfile=,mac="+mac)
		files = append(files, m.between)
	}
	c := exec.Command(m.qemu, args...)
	c.ExtraFiles = files
	c.SysProcAttr = sys.WithParent(syscall.SysProcAttr{Setpgid: true})
	return c, nil
}

// start starts the guest; in is what is typed on its console.
func (m machine) start(said io.Writer) (c *exec.Cmd, in io.Writer, err error) {
	if c, err = m.command(); err != nil {
		return nil, nil, err
	}
	c.Stderr = said
	if m.console != nil {
		c.Stdout = m.console
	}
	if in, err = c.StdinPipe(); err != nil {
		return nil, nil, err
	}
	return c, in, c.Start()
}

// run runs the guest until it ends, and tells when it has started, or why not.
func (n *Node) run(m machine, started chan<- error) {
	var said tail
	c, in, err := m.start(&said)
	if m.between != nil {
		_ = m.between.Close()
	}
	if err != nil {
		n.err = err
		close(n.gone)
		started <- err
		return
	}
	if m.console != nil {
		go func() { _, _ = io.Copy(&n.keys, m.console) }()
	}
	n.mu.Lock()
	n.process, n.line = c.Process, in
	n.mu.Unlock()
	started <- nil
	err = c.Wait()
	if err != nil && said.text() != "" {
		err = fmt.Errorf("%w: %s", err, said.text())
	} else if err == nil {
		err = errors.New("it has powered off")
	}
	n.over(err)
}

// tail keeps the last lines that QEMU says.
type tail struct{ b []byte }

func (t *tail) Write(b []byte) (int, error) {
	const most = 1000
	t.b = append(t.b, b...)
	t.b = t.b[max(0, len(t.b)-most):]
	return len(b), nil
}

func (t *tail) text() string { return strings.TrimSpace(string(t.b)) }
