package pmi

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// minute bounds what should take no time.
func minute(t *testing.T) context.Context {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(stop)
	return ctx
}

// Each rank sees what every rank has shown, whatever the launcher's bounds and however its answers come.
func TestAllGather(t *testing.T) {
	environment(t)
	rapid.Check(t, func(t *rapid.T) {
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		s := newServer(rapid.IntRange(1, 5).Draw(t, "ranks"), rapid.IntRange(32, 64).Draw(t, "key"),
			rapid.IntRange(48, 2000).Draw(t, "value"), rapid.SampledFrom([]int{0, 1, 7}).Draw(t, "piece"))
		clients := s.connect(ctx, t, rapid.Bool().Draw(t, "port"))
		names := []string{"cards", "more"}
		shown := make([][][]byte, len(names))
		for i := range names {
			for range clients {
				shown[i] = append(shown[i], rapid.SliceOfN(rapid.Byte(), 0, 3000).Draw(t, "bytes"))
			}
		}
		seen := make([][][][]byte, len(clients))
		errs := make([]error, len(clients))
		var all sync.WaitGroup
		for r, c := range clients {
			all.Go(func() {
				for i, name := range names {
					got, err := c.AllGather(ctx, name, shown[i][r])
					errs[r] = errors.Join(errs[r], err)
					seen[r] = append(seen[r], got)
				}
				errs[r] = errors.Join(errs[r], c.Finalize(ctx))
			})
		}
		all.Wait()
		for r := range clients {
			require.NoError(t, errs[r])
			for i := range names {
				require.Len(t, seen[r][i], len(clients))
				for from, b := range seen[r][i] {
					require.True(t, bytes.Equal(shown[i][from], b), "%s of %d at %d", names[i], from, r)
				}
			}
		}
		require.Equal(t, len(clients), s.left)
	})
}

// What is as long as may be goes through launchers of usual bounds.
func TestAllGatherMost(t *testing.T) {
	environment(t)
	ctx := minute(t)
	c := newServer(1, 64, 1024, 0).connect(ctx, t, false)[0]
	b := bytes.Repeat([]byte("\x00\xff;= \n"), MaxData/6+1)
	got, err := c.AllGather(ctx, "most", b[:MaxData])
	require.NoError(t, err)
	require.Equal(t, [][]byte{b[:MaxData]}, got)
	_, err = c.AllGather(ctx, "more", b[:MaxData+1])
	require.ErrorContains(t, err, "at most 65536")
}

// What goes wrong has a type, says who asked for what, and ends.
func TestErrors(t *testing.T) {
	const maxes = "cmd=maxes keylen_max=64 vallen_max=1024\n"
	const begun = "cmd=response_to_init rc=0\n" + maxes + "cmd=my_kvsname kvsname=k\n"
	for _, c := range []struct {
		name, script string // what the launcher says, whatever it is asked; then it is gone
		says         string
	}{
		{"gone at once", "", "rank 1 asks its launcher for init: the launcher has closed"},
		{"gone within a line", "cmd=response_to_init rc", "init: the launcher has closed"},
		{"another version", "cmd=response_to_init pmi_version=2 rc=1 msg=only_2.0\n", "refuses with code 1: only_2.0"},
		{"not PMI", "HTTP/1.1 400 Bad Request\n", "not in PMI-1"},
		{"out of step", maxes, "instead of response_to_init"},
		{"short values", "cmd=response_to_init rc=0\ncmd=maxes keylen_max=64 vallen_max=8\n" +
			"cmd=my_kvsname kvsname=k\n", "too short"},
		{"no end of line", strings.Repeat("x", maxAnswer+1), "longer than"},
		{"put refused", begun + "cmd=put_result rc=-1 msg=full\n", "put: the launcher refuses with code -1: full"},
		{"gone in the barrier", begun + "cmd=put_result rc=0\n", "barrier_in: the launcher has closed"},
		{"no such key", begun + "cmd=put_result rc=0\ncmd=barrier_out\ncmd=get_result rc=-1\n",
			"x of rank 0: rank 1 asks its launcher for get: the launcher refuses with code -1"},
		{"no size", begun + "cmd=put_result rc=0\ncmd=barrier_out\ncmd=get_result rc=0 value=ab\n",
			"not with its size"},
		{"a value that ends", begun + "cmd=put_result rc=0\ncmd=barrier_out\ncmd=get_result value=9.ab\n" +
			"cmd=get_result value=\n", "ends after 2 of 12 characters"},
		{"not base64", begun + "cmd=put_result rc=0\ncmd=barrier_out\ncmd=get_result value=1.!!\n", "illegal base64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			environment(t)
			ctx := minute(t)
			launcher := pair(t, 1, 2)
			defer launcher.Close()
			var said sync.WaitGroup
			defer said.Wait()
			said.Go(func() {
				launcher.WriteString(c.script)
				unix.Shutdown(int(launcher.Fd()), unix.SHUT_WR)
			})
			client, err := Open(ctx)
			if err == nil {
				_, err = client.AllGather(ctx, "x", []byte("mine"))
			}
			require.ErrorContains(t, err, c.says)
			if strings.Contains(c.says, "closed") {
				require.ErrorIs(t, err, ErrGone)
			}
			if strings.Contains(c.says, "refuses") {
				var refusal *Refusal
				require.ErrorAs(t, err, &refusal)
			}
		})
	}
}

// A launcher that says nothing is given up, and can still be told to abort.
func TestSilence(t *testing.T) {
	environment(t)
	s := newServer(2, 64, 1024, 0)
	clients := s.connect(minute(t), t, false)
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	_, err := clients[1].AllGather(ctx, "x", nil) // rank 0 does not come
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "rank 1 asks its launcher for barrier_in: no answer")
	require.NoError(t, clients[1].Abort(3))
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.aborted == "3"
	}, time.Minute, time.Millisecond)
}

// The environment alone decides whether there is a launcher.
func TestOpen(t *testing.T) {
	environment(t)
	c, err := Open(t.Context())
	require.Nil(t, c)
	require.NoError(t, err)
	t.Run("PMIx without its package", func(t *testing.T) {
		t.Setenv("PMIX_NAMESPACE", "job")
		c, err := Open(t.Context())
		require.Nil(t, c)
		require.NoError(t, err)
	})
	for _, c := range []struct {
		env  map[string]string
		says string
	}{
		{map[string]string{descriptorVar: "9999", rankVar: "0", sizeVar: "1"},
			"not open in this process: if no launcher"},
		{map[string]string{descriptorVar: "x", rankVar: "0", sizeVar: "1"}, "is not a file descriptor"},
		{map[string]string{descriptorVar: "9999", rankVar: "-1", sizeVar: "1"}, `PMI_RANK: "-1"`},
		{map[string]string{descriptorVar: "9999", rankVar: "0"}, `PMI_SIZE: ""`},
		{map[string]string{portVar: "127.0.0.1:1"}, "cannot be reached at PMI_PORT=127.0.0.1:1"},
	} {
		for name, value := range c.env {
			t.Setenv(name, value)
		}
		_, err := Open(t.Context())
		assert.ErrorContains(t, err, c.says)
		environment(t)
	}
	defer pair(t, 2, 2).Close()
	_, err = Open(t.Context())
	require.ErrorContains(t, err, "rank 2 in a job of 2 ranks")
}
