package randc

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A seed means one program, and a hundred of them make calls of every family.
func TestPrograms(t *testing.T) {
	var all strings.Builder
	ranks := map[int]int{}
	for seed := range uint64(200) {
		n, text := Program(seed)
		_, again := Program(seed)
		assert.Equal(t, text, again)
		_, code, _ := strings.Cut(text, "static void types(void)")
		all.WriteString(code)
		ranks[n]++
	}
	for n := 2; n <= 5; n++ {
		assert.Greater(t, ranks[n], 3, "programs for %d ranks", n)
	}
	for _, name := range strings.Fields(`
		Send Ssend Bsend Rsend Isend Issend Ibsend Irsend Send_init Ssend_init Bsend_init
		Recv Irecv Recv_init Start Startall Sendrecv Probe Iprobe Mprobe Improbe Mrecv Imrecv Cancel Request_free
		Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw
		Reduce Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan
		Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall
		Ibarrier Ibcast Igather Igatherv Iscatter Iscatterv Iallgather Iallgatherv Ialltoall Ialltoallv Ialltoallw
		Ireduce Iallreduce Ireduce_scatter Ireduce_scatter_block Iscan Iexscan Ineighbor_allgather
		Barrier_init Bcast_init Allreduce_init Alltoallw_init Reduce_scatter_init
		Comm_dup Comm_dup_with_info Comm_split Comm_split_type Comm_create Comm_create_group Comm_free
		Cart_create Graph_create Dist_graph_create_adjacent Intercomm_create Intercomm_merge
		Type_contiguous Type_vector Type_create_hvector Type_indexed Type_create_hindexed Type_create_indexed_block
		Type_create_struct Type_create_subarray Type_create_resized Type_dup Win_create Win_fence Accumulate`) {
		assert.True(t, strings.Contains(all.String(), "MPI_"+name+"("), "no program calls MPI_%s", name)
	}
	for _, text := range []string{"MPI_IN_PLACE", "MPI_BOTTOM", "MPI_PACKED", "MPI_ANY_SOURCE", "MPI_ANY_TAG",
		"MPI_PROC_NULL", "composing", "MPI_MINLOC", "pthread_create",
		"WAITALL", "TESTALL", "WAITANY", "TESTANY", "WAITSOME", "TESTSOME", "LOOK", "IGNORED", "spare("} {
		assert.True(t, strings.Contains(all.String(), text), text)
	}
}
