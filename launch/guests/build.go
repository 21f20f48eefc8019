//go:build linux

package guests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Module is this module, whose packages Build takes.
const Module = "github.com/exanet-mpi/exanet"

// First is the package of the guests' first process.
const First = Module + "/launch/guests/init"

// Build builds packages as programs for the guests into a folder. It needs Go, and must run
// in a folder of this module, or of one that requires it.
func Build(ctx context.Context, folder string, packages ...string) error {
	return goCommand(ctx, append([]string{"build", "-ldflags=-s -w", "-o", folder + "/"}, packages...)...)
}

// BuildTest builds the tests of a package as a program.
func BuildTest(ctx context.Context, file, pkg string) error {
	return goCommand(ctx, "test", "-c", "-ldflags=-s -w", "-o", file, pkg)
}

// Fetch fills a folder with a kernel, if it is empty, by the script of this module that also
// installs QEMU where it may. What that says goes to log.
func Fetch(ctx context.Context, folder string, log io.Writer) error {
	dir, err := moduleFolder(ctx, Module)
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, filepath.Join(dir, "scripts", "guests.sh"), folder)
	c.Stdout, c.Stderr = log, log
	if err := c.Run(); err != nil {
		return fmt.Errorf("no kernel or no QEMU for guests: %w", err)
	}
	return nil
}

// Shell is the program in the archive of BuildShell that people look around with.
const Shell = "/bbin/gosh"

// BuildShell makes an archive with u-root's shell and commands in a folder, unless it is
// there. u-root's tool builds them from the sources of the version that this module requires.
func BuildShell(ctx context.Context, folder string) (archive string, err error) {
	dir, err := moduleFolder(ctx, uroot)
	if err != nil {
		return "", err
	}
	archive = filepath.Join(folder, filepath.Base(dir)+".cpio")
	if _, err := os.Stat(archive); err == nil {
		return archive, nil
	}
	tmp, err := os.MkdirTemp(folder, "building-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	tool, made := filepath.Join(tmp, "u-root"), filepath.Join(tmp, "archive")
	if err := run(ctx, dir, nil, "go", "build", "-o", tool, "."); err != nil {
		return "", err
	}
	// The small shell leaves lines to the terminal, which a serial console is fast enough for.
	args := []string{tool, "-o", made, "-build=gbb", "-go-build-tags=goshsmall", "-initcmd=", "-defaultsh="}
	for _, c := range strings.Fields(commands) {
		args = append(args, "./cmds/core/"+c)
	}
	if err := run(ctx, dir, guestEnv, args...); err != nil {
		return "", err
	}
	return archive, os.Rename(made, archive)
}

const (
	uroot    = "github.com/u-root/u-root"
	commands = "cat chmod cp date dd df dmesg echo false find free gosh grep head hexdump hostname io kill ln ls " +
		"mkdir more mv ping ps pwd rm sleep sort strings tail tee time touch true uname uptime wc"
)

// ErrSource is the error of Source.
var ErrSource = errors.New("guests need the source tree of exanet, and Go in PATH, as their programs are built")

// Source returns an error unless this is a folder of this module, or of one that requires it, and there is Go.
func Source(ctx context.Context) error {
	err := exec.CommandContext(ctx, "go", "list", "-m", Module).Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%w: there is no Go", ErrSource)
	case err != nil:
		return fmt.Errorf("%w: this is no folder of %s", ErrSource, Module)
	}
	return nil
}

// moduleFolder is where the sources of a module are, which are fetched if need be.
func moduleFolder(ctx context.Context, module string) (string, error) {
	if err := Source(ctx); err != nil {
		return "", err
	}
	if err := run(ctx, "", nil, "go", "mod", "download", uroot); err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

var guestEnv = []string{"GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0", "GOFLAGS="}

func goCommand(ctx context.Context, args ...string) error {
	return run(ctx, "", guestEnv, append([]string{"go"}, args...)...)
}

// run runs a command in a folder, and returns what it says if it fails.
func run(ctx context.Context, dir string, env []string, argv ...string) error {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s for the guests: %w: %s", strings.Join(argv[:min(2, len(argv))], " "), err,
			strings.TrimSpace(string(out)))
	}
	return nil
}
