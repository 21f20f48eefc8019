package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/endpoint/selftest"
)

// exanetHere runs a command line in this process, whose software devices it sees.
func exanetHere(args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return out.String(), errs.String(), code
}

func TestDeviceCheckModel(t *testing.T) {
	out, errs, code := exanet(t, "", "device", "check", "--model")
	require.Zero(t, code, out+errs)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Regexp(t, `^device /proc/\d+/fd/\d+$`, lines[0])
	require.Len(t, lines, 1+len(selftest.Names()))
	for i, name := range selftest.Names() {
		require.Regexp(t, `^ok    `+name+` +\S`, lines[1+i])
	}
}

// A device that does something wrong: the line says what, the last line how much, and the exit code is 1.
func TestDeviceCheckFails(t *testing.T) {
	d, err := regs.New(regs.Config{Fault: regs.Uncounted, Nodes: []regs.Node{{ID: 2, PDIDs: []uint32{1, 1, 2}}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	out, errs, code := exanetHere("device", "check", d.Path(0))
	require.Equal(t, 1, code)
	require.Regexp(t, `(?m)^FAIL  message protection +3 messages were refused`, out)
	require.Regexp(t, `^exanet: device .*: 2 of \d+ checks failed; docs/bring-up.md says of each what to look at\n$`,
		errs, out)
}

// A line that cannot be written is an error.
func TestDeviceCheckIntoNothing(t *testing.T) {
	d, err := regs.New(regs.Config{Nodes: []regs.Node{{ID: 1, PDIDs: []uint32{1, 1, 2}}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	require.ErrorContains(t, checkDevice(full, d.Path(0)), "no space left")
}

func TestDeviceCheckOfWhatIsNone(t *testing.T) {
	for path, says := range map[string]string{
		"/dev/exanet-none": "check the path", "/dev/mem": "/dev/mem@0x", os.DevNull: "name a file that can be mapped",
		"device_test.go": "check the path and the offset", "/dev": "name the file in it",
		"registers:/dev/exanet-none": "check the path", "registers:/dev/mem": "/dev/mem@0x",
		"/dev/mem@zzz":     `("zzz" is behind the @); give one in hexadecimal digits, as /dev/mem@0xa0000000`,
		"device_test.go@x": `not an address ("x" is behind the @)`, "device_test.go@": `("" is behind the @)`,
		"device_test.go@0x10": "a multiple of 0x1000",
	} {
		out, errs, code := exanet(t, "", "device", "check", path)
		file := strings.TrimPrefix(path, "registers:")
		require.LessOrEqual(t, strings.Count(strings.ReplaceAll(errs, "/dev/mem@0x", ""), file), 1, errs)
		require.Equal(t, exitUsage, code, path)
		require.NotContains(t, out, "ok  ")
		require.Contains(t, errs, says)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
	}
}

// The documents explain each check under its name.
func TestChecksAreExplained(t *testing.T) {
	text, err := os.ReadFile("../../docs/bring-up.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "\ncheck | ")
	require.True(t, found)
	var explained []string
	for row := range strings.Lines(table) {
		if names, _, ok := strings.Cut(row, " | "); ok {
			explained = append(explained, strings.Split(names, ", ")...)
		}
	}
	names := selftest.Names()
	slices.Sort(names)
	slices.Sort(explained)
	require.Equal(t, names, explained)
}

func TestDeviceList(t *testing.T) {
	n := regs.Node{ID: 9, PDIDs: []uint32{1, 1}, Window: 64 << 10, Incoherent: true}
	d, err := regs.New(regs.Config{Nodes: []regs.Node{n}})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	out, errs, code := exanetHere("device", "check")
	require.Equal(t, exitUsage, code)
	require.Empty(t, out)
	require.Regexp(t, `no hardware: name the path of a software device, as /proc/\d+/fd/\d+, of \d+ here .* --model\n$`,
		errs)
	out, errs, code = exanetHere("device", "check", "registers:"+d.Path(0))
	require.Zero(t, code, out+errs)
	out, errs, code = exanetHere("device", "list")
	require.Zero(t, code, errs)
	require.Contains(t, out, "\nno hardware: ")
	require.Regexp(t, `(?m)^/proc/\d+/fd/\d+ +software device of process \d+ \(\S+\) +node 9, 2 interfaces, 2 of them `+
		`free, pinned memory that is not coherent$`, out)
}
