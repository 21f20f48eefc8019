package coll_test

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/coll"
)

// file writes a table file.
func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "table")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func TestRowsOfAFileComeFirst(t *testing.T) {
	name := file(t, coll.TableHead+`
bcast      1000  2    scatter_ring  # of few ranks
  bcast	any 2 shared
bcast any 2 binomial

scan any any linear`)
	s, err := coll.NewSelection("bcast:scatter_ring, @" + name)
	require.NoError(t, err)
	require.Equal(t, "scatter_ring", s.Pick(&coll.Call{Op: coll.Bcast, Ranks: 2, Recv: make([]byte, 5000)}).Name,
		"forced")
	s, err = coll.NewSelection("@" + name)
	require.NoError(t, err)
	require.Equal(t, name, s.File())
	call := func(ranks, bytes int) *coll.Call {
		return &coll.Call{Op: coll.Bcast, Ranks: ranks, Recv: make([]byte, bytes)}
	}
	shared := func(c *coll.Call) bool { ok, _ := s.Shared(c); return ok }
	require.False(t, shared(call(2, 1000)))
	require.Equal(t, "scatter_ring", s.Pick(call(2, 1000)).Name)
	require.True(t, shared(call(2, 1001)))
	require.Equal(t, "binomial", s.Pick(call(2, 1001)).Name)
	require.True(t, shared(call(3, 1000)), "built in")
	require.Equal(t, "linear", s.Pick(&coll.Call{Op: coll.Scan, Ranks: 9}).Name)
	require.Equal(t, []coll.Rule{{Algorithm: "linear", Line: 6}}, s.Rules(coll.Scan),
		"no call comes to what is built in")
}

func TestMistakesInAFile(t *testing.T) {
	for text, says := range map[string]string{
		"bcast any any":                "line 1: want collective, bytes, ranks and algorithm: 3 words",
		"bcast any any any binomial":   "line 1: want collective, bytes, ranks and algorithm: 5 words",
		"\n# x\nbcst any any binomial": `line 3: there is no collective "bcst": there are barrier, bcast`,
		"bcast any any ring": `line 1: bcast has no algorithm "ring": it has binomial, scatter_ring, ` +
			`shared, direct, leaders`,
		"gatherv any any binomial": `line 1: gatherv has no algorithm "binomial"`,
		"bcast 0 any binomial":     `line 1: bytes "0": want a number from 1 on, or any`,
		"bcast 1k any binomial":    `line 1: bytes "1k"`,
		"bcast any -2 binomial":    `line 1: ranks "-2": want a number from 1 on, or any`,
		"bcast any 1e9 binomial":   `line 1: ranks "1e9"`,
		"alltoallv 64 any linear":  "line 1: not all ranks know a size of alltoallv: bytes must be any",
		"bcast 8 any shared\nbarrier any any tree\nbcast 8 4 shared": "line 3: no call comes to this row: line 1 has " +
			"them all",
		"bcast any any binomial\nbcast 8 any shared": "line 2: no call comes to this row: line 1 has " +
			"them all",
		"\xff\x00 \n": "line 1: want collective",
		"bcast any any " + strings.Repeat("x", 1000): `line 1: bcast has no algorithm "` +
			strings.Repeat("x", 40) + `": it has`,
		strings.Repeat("#", 1<<20) + "\nbcast any any shared": "it is longer than 1048576 bytes",
	} {
		name := file(t, text)
		_, err := coll.NewSelection("@" + name)
		var bad *coll.TableError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, name, bad.File)
		require.ErrorContains(t, err, "table "+name)
		require.ErrorContains(t, err, says)
	}
	_, err := coll.NewSelection("@/nowhere/table")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.EqualError(t, err, "table /nowhere/table: no such file or directory")
	_, err = coll.NewSelection("@")
	require.Error(t, err)
	_, err = coll.NewSelection("@" + t.TempDir())
	require.ErrorContains(t, err, "not a file that every rank can read")
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err = coll.NewSelection("@" + pipe)
	require.ErrorContains(t, err, "not a file that every rank can read")
	name := file(t, "")
	_, err = coll.NewSelection("@" + name + ",@" + name)
	require.ErrorContains(t, err, "there can be one table")
}

// Ranks with the same rows agree, wherever these come from.
func TestSelectionsAreToldApart(t *testing.T) {
	text := func(override string) string {
		s, err := coll.NewSelection(override)
		require.NoError(t, err)
		return s.String()
	}
	require.Empty(t, text(""))
	require.Equal(t, "bcast:binomial,allreduce:ring", text("allreduce : ring,bcast:binomial"))
	one := text("@" + file(t, "bcast any 2 binomial"))
	require.Regexp(t, "^table [0-9a-f]{8}$", one)
	require.Equal(t, one, text("@"+file(t, "# the same\n\n bcast  any 2 binomial # row\n")))
	require.NotEqual(t, one, text("@"+file(t, "bcast any 3 binomial")))
	require.Equal(t, one+",scan:linear", text("scan:linear,@"+file(t, "bcast any 2 binomial")))
}

// rows draws rows of a table that is not refused.
func rows(t *rapid.T) (rows []coll.Row) {
	for range rapid.IntRange(0, 12).Draw(t, "rows") {
		op := rapid.SampledFrom([]coll.Collective{coll.Bcast, coll.Allreduce, coll.Alltoallv, coll.Barrier}).Draw(t,
			"op")
		r := coll.Row{Op: op, Rule: coll.Rule{Algorithm: rapid.SampledFrom(coll.Algorithms(op)).Draw(t,
			"algorithm").Name, Ranks: rapid.IntRange(0, 4).Draw(t, "ranks")}}
		if op.Sized() {
			r.Bytes = rapid.IntRange(0, 9).Draw(t, "bytes")
		}
		if _, err := coll.ParseTable(join(append(rows, r))); err == nil {
			rows = append(rows, r)
		}
	}
	return rows
}

func join(rows []coll.Row) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(r.String() + "\n")
	}
	return b.String()
}

// What is written is read as it was; and the first row that fits counts, which is what
// the answers about shared memory say too.
func TestTheFirstRowThatFitsCounts(t *testing.T) {
	name := filepath.Join(t.TempDir(), "table")
	rapid.Check(t, func(t *rapid.T) {
		own := rows(t)
		require.NoError(t, os.WriteFile(name, []byte(join(own)), 0o600))
		read, err := coll.ReadTable(name)
		require.NoError(t, err)
		require.Len(t, read, len(own))
		for i, r := range read {
			require.Equal(t, i+1, r.Line)
			r.Line = 0
			require.Equal(t, own[i], r)
		}
		s, err := coll.NewSelection("@" + name)
		require.NoError(t, err)
		for _, op := range []coll.Collective{coll.Bcast, coll.Allreduce} {
			for ranks := 1; ranks <= 5; ranks++ {
				limit := s.SharedUpTo(op, ranks)
				for bytes := range 12 {
					c := &coll.Call{Op: op, Ranks: ranks, Elem: 1, Commute: true, Recv: make([]byte, bytes),
						InPlace: true}
					first, other := firstFit(own, c)
					shared, direct := s.Shared(c)
					require.Equal(t, coll.InMemory(first), shared)
					require.Equal(t, first == coll.Direct, direct)
					require.Equal(t, other, s.Pick(c).Name)
					if bytes <= limit {
						require.Equal(t, coll.Shared, first)
					} else if bytes == limit+1 {
						require.NotEqual(t, coll.Shared, first)
					}
				}
				require.True(t, limit >= -1 && limit <= math.MaxInt)
			}
		}
	})
}

// firstFit is what a table says about a call of ranks on one host, with shared memory and without.
func firstFit(own []coll.Row, c *coll.Call) (shared, other string) {
	for _, r := range own {
		if r.Op != c.Op || r.Algorithm == coll.Leaders || r.Bytes != 0 && c.Bytes() > r.Bytes ||
			r.Ranks != 0 && c.Ranks > r.Ranks {
			continue
		}
		if shared == "" {
			shared = r.Algorithm
		}
		if !coll.InMemory(r.Algorithm) {
			return shared, r.Algorithm
		}
	}
	first, other := coll.BuiltIn(c.Op, c.Bytes(), c.Ranks)
	if shared == "" {
		shared = first
	}
	return shared, other
}

func FuzzParseTable(f *testing.F) {
	for _, seed := range []string{"", coll.TableHead, "bcast 8 2 shared\nbcast any any binomial # x",
		"scan any any linear\n\n", "bcast 99999999999999999999 any shared", "a b c d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := coll.ParseTable(text)
		if err != nil {
			var bad *coll.TableError
			require.True(t, errors.As(err, &bad))
			require.GreaterOrEqual(t, bad.Line, 1)
			require.NotContains(t, err.Error(), "\n")
			require.Less(t, len(err.Error()), 1000)
			return
		}
		again, err := coll.ParseTable(join(rows))
		require.NoError(t, err)
		require.Len(t, again, len(rows))
		for i := range rows {
			require.Equal(t, rows[i].String(), again[i].String())
		}
	})
}
