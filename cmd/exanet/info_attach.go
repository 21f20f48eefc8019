package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

func init() { commands = append(commands, newAttachTarget, newAttachReach) }

// Cross-memory attach is tried between two children, as ranks use it: a parent
// may be allowed what siblings are not. One, the target, offers two words; the
// other reads the first and writes it into the second.
const (
	targetCommand = "attach-target"
	reachCommand  = "attach-reach"
)

// newAttachTarget prints its PID and the address of its words, waits for the
// end of its input, and fails if they differ.
func newAttachTarget() *cobra.Command {
	return &cobra.Command{
		Use: targetCommand, Short: "Offer memory to attach to", Hidden: true, Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			sys.AllowAttach() // as ranks do
			words := []uint64{rand.Uint64() | 1, 0}
			fmt.Println(os.Getpid(), mem.Addr(mem.Bytes(words)))
			_, _ = io.Copy(io.Discard, os.Stdin)
			if words[0] != words[1] {
				return errors.New("the write has not arrived")
			}
			return nil
		},
	}
}

// newAttachReach copies the first word of a target to its second, and exits
// with the error number if that is refused.
func newAttachReach() *cobra.Command {
	return &cobra.Command{
		Use: reachCommand + " PID ADDRESS", Short: "Attach to memory", Hidden: true, Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			pid, err := strconv.Atoi(args[0])
			if err != nil {
				return usageError{err}
			}
			addr, err := strconv.ParseUint(args[1], 10, 64)
			if err != nil {
				return usageError{err}
			}
			word := make([]byte, 8)
			if _, err := sys.VMRead(pid, addr, word); err != nil {
				return refusal{err}
			}
			if _, err := sys.VMWrite(pid, addr+8, word); err != nil {
				return refusal{err}
			}
			return nil
		},
	}
}

// refusal is an error number that travels as an exit code.
type refusal struct{ error }

func (r refusal) ExitCode() int {
	var errno syscall.Errno
	if errors.As(r.error, &errno) {
		return int(errno)
	}
	return exitFailure
}

// tryAttach reports why cross-memory attach does not work.
func tryAttach(root fs.FS) error {
	target := exec.Command(self(), targetCommand)
	in, err := target.StdinPipe()
	if err != nil {
		return err
	}
	out, err := target.StdoutPipe()
	if err != nil {
		return err
	}
	if err := target.Start(); err != nil {
		return err
	}
	line, readErr := bufio.NewReader(out).ReadString('\n')
	var reachErr error
	if readErr == nil {
		reachErr = exec.Command(self(), append([]string{reachCommand}, strings.Fields(line)...)...).Run()
	}
	_ = in.Close()
	targetErr := target.Wait()

	var refused *exec.ExitError
	switch {
	case readErr != nil:
		return fmt.Errorf("the target of the trial said nothing: %w", errors.Join(readErr, targetErr))
	case errors.As(reachErr, &refused):
		return whyRefused(root, syscall.Errno(refused.ExitCode()))
	case reachErr != nil:
		return reachErr
	case targetErr != nil:
		return errors.New("the kernel reported success, but nothing was written")
	}
	return nil
}

// whyRefused explains the error of process_vm_readv or process_vm_writev.
func whyRefused(root fs.FS, errno syscall.Errno) error {
	var why []string
	if scope := firstLine(root, "proc/sys/kernel/yama/ptrace_scope"); scope != "" && scope != "0" {
		why = append(why, "Yama's ptrace_scope is "+scope)
	}
	status, _ := fs.ReadFile(root, "proc/self/status")
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch name {
		case "Seccomp":
			if value != "0" {
				why = append(why, "a seccomp filter is active, as in containers")
			}
		case "CapEff":
			const sysPtrace = 19
			if caps, err := strconv.ParseUint(value, 16, 64); err == nil && caps>>sysPtrace&1 == 0 {
				why = append(why, "CAP_SYS_PTRACE is missing")
			}
		}
	}
	switch errno {
	case syscall.ENOSYS:
		why = append([]string{"the kernel has no such call, or a filter hides it"}, why...)
	case syscall.ESRCH:
		why = append([]string{"the processes do not see each other's PIDs"}, why...)
	}
	if len(why) == 0 {
		return errno
	}
	return fmt.Errorf("%w (%s); long messages are copied through shared memory", errno, strings.Join(why, "; "))
}
