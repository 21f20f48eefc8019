//go:build linux && guests

package guests

import (
	"bufio"
	"context"
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/launch/guests/wire"
	"github.com/exanet-mpi/exanet/test/collect"
)

// libraries are where those of Debian's packages for ARM64 are.
const libraries = "usr/lib/aarch64-linux-gnu"

// mpich is what there is of MPICH for ARM64.
type mpich struct {
	root    string // with Debian's packages (scripts/arm64.sh)
	preload string // folder with our library
}

// findMPICH skips a test where something is missing.
func findMPICH(t *testing.T) mpich {
	for _, tool := range []string{"aarch64-linux-gnu-gcc", "mpicc.mpich", "mpiexec.hydra"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no MPICH in guests: %v (Debian: apt-get install gcc-aarch64-linux-gnu mpich libmpich-dev)", err)
		}
	}
	m := mpich{os.Getenv("ARM64_ROOT"), os.Getenv("ARM64_LIBRARIES")}
	for _, file := range []string{filepath.Join(m.root, "usr/bin/hydra_pmi_proxy"),
		filepath.Join(m.preload, "libexanet-mpich.so")} {
		if _, err := os.Stat(file); err != nil {
			t.Skipf("no MPICH in guests: %v (make preload ARCH=arm64)", err)
		}
	}
	return m
}

// add puts a program into an image with all libraries that it needs.
func (m mpich) add(t *testing.T, image *Image, file, name string) {
	done := map[string]bool{}
	var needs func(file string)
	needs = func(file string) {
		f, err := elf.Open(file)
		require.NoError(t, err)
		defer f.Close()
		list, err := f.ImportedLibraries()
		require.NoError(t, err)
		for _, l := range append(list, "libgcc_s.so.1") { // threads of C are ended by it
			if done[l] {
				continue
			}
			done[l] = true
			path := filepath.Join(m.root, libraries, l)
			if _, err := os.Stat(path); err != nil {
				path = filepath.Join(m.root, "lib/aarch64-linux-gnu", l)
			}
			require.NoError(t, image.Add(path, "lib/"+l))
			needs(path)
		}
	}
	needs(file)
	require.NoError(t, image.Add(file, name))
}

// An unmodified C program under Hydra, with a rank on each node and the library preloaded: its
// messages, short ones and some of up to 3 MB, go over the registers. They are those of the
// same program under MPICH alone on this machine.
func TestMPICH(t *testing.T) {
	m := findMPICH(t)
	dir := t.TempDir()
	const source = "../../cmd/libexanet/testdata/p2p.c"
	native, program := filepath.Join(dir, "native"), filepath.Join(dir, "p2p")
	out, err := exec.Command("mpicc.mpich", "-funsigned-char", "-w", "-o", native, source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	alone, err := exec.CommandContext(ctx, "mpiexec.hydra", "-n", "2", native).Output()
	require.NoError(t, err)
	out, err = exec.Command("aarch64-linux-gnu-gcc", "-O1", "-w", "-o", program, source,
		"-I"+filepath.Join(m.root, "usr/include/aarch64-linux-gnu/mpich"), "-L"+filepath.Join(m.root, libraries),
		"-Wl,-rpath-link,"+filepath.Join(m.root, libraries), "-Wl,--allow-shlib-undefined", "-lmpich").CombinedOutput()
	require.NoError(t, err, "%s", out)
	g := boot(t, 512, nil, func(image *Image) {
		m.add(t, image, filepath.Join(m.root, "usr/bin/hydra_pmi_proxy"), "bin/hydra_pmi_proxy")
		m.add(t, image, program, "bin/p2p")
		for _, l := range []string{"libexanet-mpich.so", "libexanet-mpich-go.so"} {
			m.add(t, image, filepath.Join(m.preload, l), "lib/"+l)
		}
	})
	preloaded, err := hydra(t, g, []string{"LD_PRELOAD=/lib/libexanet-mpich.so", "EXANET_VERBOSE=1"}, "/bin/p2p")
	require.NoError(t, err, preloaded)
	says := regexp.MustCompile(`(?m)^(exanet: .*)\n`)
	require.NotEmpty(t, says.FindString(preloaded), "the library is there")
	for _, n := range g.Nodes {
		messages, writes := sent(t, n)
		require.Greater(t, messages, uint64(100))
		require.Greater(t, writes, uint64(20), "long messages")
	}
	require.Equal(t, sorted(string(alone)), sorted(says.ReplaceAllString(preloaded, "")))
}

func sorted(text string) []string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return lines
}

// hydra runs a program under MPICH's launcher: that is here, what it has on each node is there.
func hydra(t *testing.T, g *Guests, env []string, program string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c := exec.CommandContext(ctx, "mpiexec.hydra", "-launcher", "manual", "-hosts", "node0,node1", "-n", "2",
		"-ppn", "1", "-genvnone", "-wdir", "/tmp", "-genv", "UCX_TLS", "tcp,self", "-genv", "UCX_NET_DEVICES", "eth1")
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		c.Args = append(c.Args, "-genv", name, value)
	}
	c.Args = append(c.Args, program)
	c.WaitDelay = time.Second
	pipe, err := c.StdoutPipe()
	require.NoError(t, err)
	var all collect.Buffer
	c.Stderr = &all
	require.NoError(t, c.Start())
	in := bufio.NewReader(pipe)
	// It prints the command of each proxy, which finds this machine under its name.
	port := regexp.MustCompile(`--control-port \S+:`)
	for node := 0; ; {
		line, err := in.ReadString('\n')
		require.NoError(t, err, "%s", &all)
		if strings.HasPrefix(line, "HYDRA_LAUNCH_END") {
			break
		}
		if command, ok := strings.CutPrefix(line, "HYDRA_LAUNCH: "); ok {
			argv := strings.Fields(port.ReplaceAllString(command, "--control-port "+wire.Gateway+":"))
			argv[0] = filepath.Base(argv[0])
			_, err := g.Nodes[node].Start(Command{Argv: argv, Stdout: &all, Stderr: &all})
			require.NoError(t, err)
			node++
		}
	}
	_, _ = io.Copy(&all, in)
	err = c.Wait()
	return all.String(), err
}
