package mpi

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// Ranks that are given the segment of their job need no launcher of ours.
func TestWithJob(t *testing.T) {
	if err := sys.Processes(); err != nil {
		t.Skip(err)
	}
	job, err := host.NewJob(2)
	require.NoError(t, err)
	defer job.Close()
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			o, err := options([]Option{withJob(job.File(), i, nil)})
			if !assert.NoError(t, err) {
				return
			}
			f, err := join(o)
			if !assert.NoError(t, err) {
				return
			}
			k, err := newRank(f, o)
			if !assert.NoError(t, err) {
				return
			}
			defer k.Close()
			world := newWorld(k)
			in := []int{-1}
			_, err = Sendrecv(world, []int{i}, 1-i, 0, in, 1-i, 0)
			assert.NoError(t, err)
			assert.Equal(t, 1-i, in[0])
			assert.NoError(t, k.finalize(world))
		})
	}
	wg.Wait()

	_, err = options([]Option{withJob(nil, 0, nil)})
	assert.ErrorIs(t, err, ErrInit)
	a, _, err := profile(withJob(job.File(), 0, nil))
	require.NoError(t, err)
	b, _, err := profile(withJob(job.File(), 1, nil), WithCollectives("bcast:binomial"))
	require.NoError(t, err)
	assert.NotEqual(t, a, b)
	_, _, err = profile(WithVariant("none"))
	assert.ErrorIs(t, err, ErrInit)
	if !slices.Contains(Devices(), deviceRegisters) {
		return
	}
	_, _, err = profile(withJob(job.File(), 0, nil), WithDevice(deviceRegisters))
	assert.ErrorContains(t, err, "registers")
	o, err := options([]Option{withJob(job.File(), 0, nil), WithDevice(deviceRegisters)})
	require.NoError(t, err)
	_, err = join(o)
	assert.ErrorContains(t, err, "registers")
}

// A rank of another launcher's job would be a world of its own.
func TestOtherLaunchersAreRefused(t *testing.T) {
	o, err := options(nil)
	require.NoError(t, err)
	for _, kv := range [][3]string{{"PMI_SIZE", "3", "PMI_FD"}, {"OMPI_COMM_WORLD_SIZE", "2", "/mpi/pmix\""},
		{"SLURM_STEP_NUM_TASKS", "64", "--mpi=pmi2"}, {"PMIX_RANK", "1", "/mpi/pmix\""}} {
		t.Run(kv[0], func(t *testing.T) {
			t.Setenv(kv[0], kv[1])
			_, err := join(o)
			require.ErrorContains(t, err, kv[0]+"="+kv[1])
			require.ErrorContains(t, err, kv[2])
			require.ErrorContains(t, err, "exanet run -n ")
		})
	}
	for _, kv := range [][2]string{{"PMI_SIZE", "1"}, {"SLURM_NTASKS", "8"}, {"PMIX_RANK", "0"}} {
		t.Run(kv[0]+"="+kv[1], func(t *testing.T) { // this process is all, or nobody knows
			t.Setenv(kv[0], kv[1])
			f, err := join(o)
			require.NoError(t, err)
			f.Close()
		})
	}
}

// Arithmetic with ranks does not make what stands for no rank, or for any.
func TestARankThatIsMissedByLittle(t *testing.T) {
	require.NoError(t, Run(1, func(w *Comm) error {
		for peer := -8; peer < 0; peer++ {
			_, err := Recv(w, []int32{1}, peer, 0)
			assert.ErrorIs(t, err, ErrRank, peer)
			assert.ErrorIs(t, Send(w, []int32{1}, peer, 0), ErrRank, peer)
		}
		return nil
	}))
}
