package launch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/launch"
)

// A job that takes too long says what its ranks wait for, and ends with an error of its own. A job that
// ends in time says nothing.
func TestTimeout(t *testing.T) {
	cfg := self(3, "end")
	cfg.Args, cfg.Timeout = []string{"for ever"}, 5*time.Second
	o := runJob(t, cfg)
	var timeout *launch.TimeoutError
	require.ErrorAs(t, o.err, &timeout)
	require.Equal(t, cfg.Timeout, timeout.Timeout)
	require.Equal(t, 124, timeout.ExitCode())
	require.Regexp(t, `^exanet: what the ranks wait for:
  rank 0 \(pid \d+\) receive from rank 1, tag 42, [^\n]*
  rank 1 \(pid \d+\) waits for nothing
  rank 2 \(pid \d+\) receive from rank 1, tag 42, [^\n]*
exanet: the job has not ended within 5s, and is ended\n$`, o.errs)

	cfg = self(2, "good")
	cfg.Timeout = time.Hour
	o = runJob(t, cfg)
	require.NoError(t, o.err)
	require.Empty(t, o.errs)
}
