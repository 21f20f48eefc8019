package toy_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/check/explore"
	"github.com/exanet-mpi/exanet/check/scenario"
	"github.com/exanet-mpi/exanet/check/toy"
	"github.com/exanet-mpi/exanet/check/world"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/variants"
)

const root = "../.."

func read(t *testing.T, name string) string {
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(text)
}

var fence = regexp.MustCompile("(?ms)^```(go|diff|text) (\\S+)\n(.*?)^```$")

// quotes are the pieces of the document of one language, by what they are of.
func quotes(t *testing.T, language string) map[string][]string {
	found := map[string][]string{}
	for _, m := range fence.FindAllStringSubmatch(read(t, "docs/adding-a-protocol.md"), -1) {
		if m[1] == language {
			found[m[2]] = append(found[m[2]], m[3])
		}
	}
	require.NotEmpty(t, found)
	return found
}

// What the document quotes is in the source.
func TestQuotes(t *testing.T) {
	for file, pieces := range quotes(t, "go") {
		for _, piece := range pieces {
			require.Contains(t, read(t, file), piece, file)
		}
	}
}

// hasty is the toy with the mistake of the document: a CTS is for the oldest send, whatever its number.
type hasty struct {
	*toy.Protocol
	sends []*variants.Request
}

func (p *hasty) PostSend(r *variants.Request) {
	p.Protocol.PostSend(r)
	p.sends = append(p.sends, r)
}

func (p *hasty) Deliver(h packetizer.Header, payload []byte) {
	if variants.Unpack(h).Kind == variants.CTS {
		for _, r := range p.sends {
			if r.Queued {
				variants.Number(&h, r.Ticket)
				break
			}
		}
	}
	p.Protocol.Deliver(h, payload)
}

// The explorer finds the mistake, and shows what the document shows.
func TestMistakeIsFound(t *testing.T) {
	cfg := world.Config{Ranks: 2, Make: func(me int, dev world.Device) variants.Protocol {
		return &hasty{Protocol: toy.New(me, dev)}
	}}
	_, failure := explore.Run(cfg, explore.Singles(explore.Full.Sample(3, 2000, 1)), false, nil)
	require.NotNil(t, failure, "the mistake is not found")
	failure = explore.Minimal(failure)
	operations := 0
	for _, ops := range failure.Program {
		operations += len(ops)
	}
	require.LessOrEqual(t, operations, 4, "it is found, but not made small")

	send := func(tag int32) world.Op { return world.Op{Kind: world.Send, Peer: 1, Tag: tag, Size: explore.Long} }
	recv := func(tag int32) world.Op { return world.Op{Kind: world.Recv, Peer: 0, Tag: tag, Size: explore.Large} }
	_, f := explore.Explore(cfg, world.Program{{send(1), send(2)}, {recv(2), recv(1)}})
	require.NotNil(t, f)
	f = explore.Minimal(f)
	file := scenario.Write("Counterexample: "+f.Violation.Error(), "toy", f.Config, f.Program, f.Actions, f.Settled)
	require.Equal(t, []string{file}, quotes(t, "text")["counterexample"])
}

// Random MPI programs run over the toy once it is registered where the document says.
func TestRandomPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("builds package mpi anew")
	}
	replace := map[string]string{}
	for file, hunks := range quotes(t, "diff") {
		text := read(t, file)
		for _, hunk := range hunks {
			var was, is string
			for line := range strings.Lines(hunk) {
				if line[0] != '+' {
					was += line[1:]
				}
				if line[0] != '-' {
					is += line[1:]
				}
			}
			require.Equal(t, 1, strings.Count(text, was), "%s does not have once:\n%s", file, was)
			text = strings.Replace(text, was, is, 1)
		}
		changed := filepath.Join(t.TempDir(), filepath.Base(file))
		require.NoError(t, os.WriteFile(changed, []byte(text), 0o600))
		original, err := filepath.Abs(filepath.Join(root, file))
		require.NoError(t, err)
		replace[original] = changed
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(overlay, text, 0o600))
	cmd := exec.Command("go", "test", "-vet=off", "-count=1", "-overlay", overlay, "./test/randprog", "-v", "-run",
		"^(TestRandom|TestPlaysHaveAllProtocols)$/^toy$")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestRandom/toy")
}
