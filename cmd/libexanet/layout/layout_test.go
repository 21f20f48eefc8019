package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../../.."

// The header that is kept is the one of the source.
func TestHeaderIsThatOfTheSource(t *testing.T) {
	want, err := generate(root)
	require.NoError(t, err)
	got, err := os.ReadFile("../c/layout.h")
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "run: go run ./cmd/libexanet/layout >cmd/libexanet/c/layout.h")
}

// header1 is the header of a package.
func header1(t *testing.T, source string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "p"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p", "p.go"), []byte(source), 0o666))
	text, err := generate(dir)
	return string(text), err
}

func TestStructsHaveTheirFieldsWhereGoHasThem(t *testing.T) {
	text, err := header1(t, `package p
import "sync/atomic"

//exanet:c outer
type outer struct {
	flag  bool
	bulkTail atomic.Uint64
	in    [2]inner
	other struct{ x uint32 }
	_     [60]byte
	PID   int32
}

//exanet:c inner
type inner struct{ a, b uint16 }
`)
	require.NoError(t, err)
	for _, want := range []string{
		"struct inner {\n\tuint16_t a;\n\tuint16_t b;\n};",
		"struct outer {\n\tuint8_t flag;\n\tunsigned char unused0[7];\n\tuint64_t bulk_tail;\n\tstruct inner " +
			"in[2];\n\tunsigned char unused1[64];\n\tint32_t pid;\n\tunsigned char unused2[4];\n};",
		"offsetof(struct outer, pid) == 88",
		"sizeof(struct outer) == 96",
	} {
		assert.Contains(t, text, want)
	}
}

func TestConstantsHaveTheirPrefix(t *testing.T) {
	text, err := header1(t, `package p

//exanet:c BELL_
const (
	foreground uint32 = 1 << iota
	bellBackground
	wholeTurn uint64 = 1 << 63
)
const other = 3
`)
	require.NoError(t, err)
	assert.Contains(t, text, "enum { BELL_FOREGROUND = 1 };\nenum { BELL_BACKGROUND = 2 };\nstatic const uint64_t "+
		"BELL_WHOLE_TURN = 0x8000000000000000u;\n")
	assert.NotContains(t, text, "OTHER")
}

func TestWhatCHasNoTypeForIsAnError(t *testing.T) {
	_, err := header1(t, "package p\n\n//exanet:c a\ntype a struct{ p *int }\n")
	assert.ErrorContains(t, err, "field p: C has no type for *int")
	_, err = header1(t, "package p\n\n//exanet:c a\ntype a int\n")
	assert.ErrorContains(t, err, "is no struct")
	_, err = header1(t, "package p\n\n//exanet:c A_\nconst a = 0.5\n")
	assert.ErrorContains(t, err, "constant p.a")
}
