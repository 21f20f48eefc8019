//go:build real

// Package ci tests the files of examples/ci where there is no container engine: a small Linux is put together from
// packages of this machine, and the commands of the files run in it, by chroot.
package ci

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func TestFiles(t *testing.T) {
	var built *image
	images := t.TempDir()
	t.Run("Containerfile", func(t *testing.T) { built = containerfile(t, images) })
	if built != nil {
		t.Run("workflow", func(t *testing.T) { workflow(t, built) })
	}
}

// containerfile carries out every instruction of the Containerfile, with images in a folder, and returns that of the
// first stage.
func containerfile(t *testing.T, dir string) (built *image) {
	text, err := os.ReadFile("../../examples/ci/Containerfile")
	require.NoError(t, err)
	images := map[string]*image{}
	var m *image
	for line := range strings.Lines(string(text)) {
		word := strings.Fields(line)
		if len(word) == 0 || word[0] == "#" {
			continue
		}
		rest := strings.TrimSpace(strings.TrimPrefix(line, word[0]))
		switch word[0] {
		case "FROM":
			m = newImage(t, filepath.Join(dir, strconv.Itoa(len(images))))
			images[word[len(word)-1]] = m
			if built == nil {
				built = m
			}
			if strings.HasPrefix(word[1], "golang:") {
				m.addGo(t)
			}
		case "WORKDIR":
			m.dir = word[1]
			require.NoError(t, os.MkdirAll(m.path(m.dir), 0o755))
		case "COPY":
			to := m.path(word[len(word)-1])
			if from, ok := strings.CutPrefix(word[1], "--from="); ok {
				for _, name := range word[2 : len(word)-1] {
					output(t, "cp", "-a", images[from].path(name), to)
				}
			} else {
				require.Equal(t, ". .", rest)
				m.addCheckout(t, m.dir)
			}
		case "RUN":
			m.run(t, rest)
		case "CMD":
			overExanet(t, m.run(t, rest))
		default:
			require.Fail(t, "an instruction that this test does not know", line)
		}
	}
	return built
}

// workflow runs every command of the workflow, with a program in its checkout. To save time it does so where the
// Containerfile has built already.
func workflow(t *testing.T, m *image) {
	text, err := os.ReadFile("../../examples/ci/github.yml")
	require.NoError(t, err)
	var workflow struct {
		Jobs map[string]struct {
			Container string
			Steps     []struct {
				Run, Uses string
				With      map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &workflow))
	job := workflow.Jobs["test"]
	require.Equal(t, "debian:bookworm", job.Container)
	checkout := m.dir
	m.dir = "/work"
	m.writable = append(m.writable, checkout)
	require.NoError(t, os.Mkdir(m.path(m.dir), 0o755))
	out := ""
	for _, step := range job.Steps {
		action, _, _ := strings.Cut(step.Uses, "@")
		switch {
		case action == "actions/setup-go":
			require.FileExists(t, m.path(checkout, filepath.Base(step.With["go-version-file"])))
		case action == "actions/checkout" && step.With["repository"] != "":
			require.NoError(t, os.Symlink(checkout, m.path(m.dir, step.With["path"])))
		case action == "actions/checkout":
			output(t, "cp", "../../examples/ci/pi.c", m.path(m.dir))
		default:
			require.NotEmpty(t, step.Run)
			out = m.run(t, step.Run)
		}
	}
	overExanet(t, out)
}

// overExanet checks what the program and, with EXANET_VERBOSE, the library say.
func overExanet(t *testing.T, out string) {
	require.Contains(t, out, "by 4 ranks")
	require.Contains(t, out, "exanet: 4 ranks, protocol ")
}

// image stands for the file system of a container. Commands may write to few folders of it: the rest are
// hard links to this machine's files, where that is possible.
type image struct {
	root     string
	dir      string   // in which commands run
	writable []string // other folders
	golang   []string // folders of Go's on this machine
}

func (m *image) path(names ...string) string {
	return filepath.Join(append([]string{m.root}, names...)...)
}

// newImage makes an image with what every Debian has. It skips the test where that cannot be done.
func newImage(t *testing.T, root string) *image {
	t.Helper()
	m := &image{root: root, dir: "/tmp"}
	for _, name := range strings.Fields("usr/bin usr/lib usr/lib64 usr/sbin usr/local/bin dev proc tmp") {
		require.NoError(t, os.MkdirAll(m.path(name), 0o755))
	}
	for _, name := range []string{"bin", "lib", "lib64", "sbin"} {
		require.NoError(t, os.Symlink("usr/"+name, m.path(name)))
	}
	for _, probe := range []*exec.Cmd{exec.Command("apt-cache", "show", "libc-bin"), unshare(
		"mount --bind /tmp /tmp; mount -o remount,bind,ro /tmp; mount --rbind /dev /tmp; chroot / true")} {
		if out, err := probe.CombinedOutput(); err != nil {
			t.Skipf("no image can be made of this machine's packages: %v: %v: %s", probe, err, out)
		}
	}
	m.install(t, strings.Fields("bash coreutils dash diffutils findutils grep gzip hostname libc-bin sed tar "+
		"util-linux"))
	return m
}

// addGo gives an image Go, and the modules that this machine has fetched.
func (m *image) addGo(t *testing.T) {
	m.golang = strings.Fields(output(t, "go", "env", "GOROOT", "GOMODCACHE", "GOCACHE"))
	for _, dir := range m.golang {
		require.NoError(t, os.MkdirAll(m.path(dir), 0o755))
	}
}

// addCheckout copies this project, as it is in the index of git, to a folder of an image.
func (m *image) addCheckout(t *testing.T, dir string) {
	require.NoError(t, os.MkdirAll(m.path(dir), 0o755))
	c := exec.Command("sh", "-ec", `cd ../..; git ls-files -z | tar --null -T - -cf - | tar -C "$0" -xf -`, m.path(dir))
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
}

// run runs a command in an image. Packages are not fetched but copied from this machine.
func (m *image) run(t *testing.T, command string) (out string) {
	t.Helper()
	if packages, ok := strings.CutPrefix(command, "apt-get update && apt-get install -y --no-install-recommends "); ok {
		m.install(t, strings.Fields(packages))
		return ""
	}
	b, err := m.command(command).CombinedOutput()
	require.NoError(t, err, "%s: %s", command, b)
	return string(b)
}

func (m *image) command(command string) *exec.Cmd {
	const enter = `root=$0 dir=$1 command=$2 writable=$3; shift 3
		mount --bind "$root" "$root"
		for d in "$dir" /tmp $writable; do mount --bind "$root$d" "$root$d"; done
		mount -o remount,bind,ro "$root"
		for d in /dev /proc "$@"; do mount --rbind "$d" "$root$d"; done
		exec chroot "$root" /bin/sh -ec 'cd "$0"; eval "$1"' "$dir" "$command"`
	c := unshare(enter, append([]string{m.root, m.dir, command, strings.Join(m.writable, " ")}, m.golang...)...)
	c.Env = []string{"HOME=/tmp", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "GOTOOLCHAIN=local",
		"GOPROXY=off", "EXANET_VERBOSE=1"}
	if m.golang != nil {
		c.Env = append(c.Env, "GOMODCACHE="+m.golang[1], "GOCACHE="+m.golang[2])
		c.Env[1] += ":" + m.golang[0] + "/bin"
	}
	return c
}

// unshare runs a script of the shell that mounts, in a namespace of its own, so that nothing is left of that.
func unshare(script string, args ...string) *exec.Cmd {
	args = append([]string{"--mount", "sh", "-ec", script}, args...)
	if os.Getuid() != 0 {
		args = append([]string{"--map-root-user"}, args...)
	}
	return exec.Command("unshare", args...)
}

// install gives an image packages of this machine, and all that they depend on.
func (m *image) install(t *testing.T, packages []string) {
	t.Helper()
	all := output(t, "apt-cache", append(strings.Fields("depends --recurse --installed --no-recommends --no-suggests "+
		"--no-conflicts --no-breaks --no-replaces --no-enhances"), packages...)...)
	installed := strings.Fields(output(t, "dpkg-query", "-W", "-f", "${Package}\\n"))
	names := slices.DeleteFunc(strings.Fields(all), func(name string) bool { return !slices.Contains(installed, name) })
	for _, p := range packages {
		require.Contains(t, installed, p)
	}
	for name := range strings.Lines(output(t, "dpkg", append([]string{"-L"}, names...)...)) {
		if name = strings.TrimSpace(name); !strings.HasPrefix(name, "/usr/share/") {
			m.place(t, name)
		}
	}
	// What update-alternatives makes when a package is installed.
	links, err := os.ReadDir("/etc/alternatives")
	require.NoError(t, err)
	for _, l := range links {
		name := filepath.Join("/etc/alternatives", l.Name())
		if to, _ := os.Readlink(name); to != "" {
			if _, err := os.Lstat(m.path(to)); err == nil {
				m.place(t, name)
				m.place(t, filepath.Join("/usr/bin", l.Name()))
			}
		}
	}
}

// place puts a file of this machine, if there is one of that name, into an image.
func (m *image) place(t *testing.T, name string) {
	t.Helper()
	to := m.path(name)
	s, err := os.Lstat(name)
	if err != nil || s.IsDir() {
		return
	}
	if _, err := os.Lstat(to); err == nil {
		return
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
	if s.Mode().IsRegular() && os.Link(name, to) == nil {
		return
	}
	output(t, "cp", "-a", name, to)
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	var errs bytes.Buffer
	c := exec.Command(name, args...)
	c.Stderr = &errs
	out, err := c.Output()
	require.NoError(t, err, "%s %v: %s", name, args, errs.String())
	return string(out)
}
