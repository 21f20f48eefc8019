! Collectives, blocking and non-blocking, in place as well; on a grid those of
! neighbours.
#include "dialect.h"
program coll
  MPI_HEAD
  implicit none
  MPI_INCLUDE
#include "variables.h"
  integer, parameter :: most = 8*700
  integer :: in(most), out(most), counts(8), displs(8), bytes(8), root, i, k, n
  integer(MPI_ADDRESS_KIND) :: far(8)
  REQUEST :: r
  DATATYPE :: types(8)
  COMM :: grid, pair
  call begin()
  counts = [(i, i=1, 8)]
  displs = [((i - 1)*9, i=1, 8)]
  bytes = displs*4
  types = MPI_INTEGER
  do k = 1, 2
    n = merge(3, 700, k == 1)
    root = mod(k, size)
    call reset()
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_Ibarrier(MPI_COMM_WORLD, r, ierr)
    call MPI_Wait(r, MPI_STATUS_IGNORE, ierr)

    if (rank == root) in = out
    call MPI_Bcast(in, n, MPI_INTEGER, root, MPI_COMM_WORLD, ierr)
    call show('bcast')
    if (rank == root) in = out + 1
    call MPI_Ibcast(in, n, MPI_INTEGER, root, MPI_COMM_WORLD, r, ierr)
    call done('ibcast')

    call MPI_Gather(out, n, MPI_INTEGER, in, n, MPI_INTEGER, root, MPI_COMM_WORLD, ierr)
    call show('gather')
    call MPI_Igather(out, n, MPI_INTEGER, in, n, MPI_INTEGER, root, MPI_COMM_WORLD, r, ierr)
    call done('igather')
    if (rank == root) then
      in(rank*n + 1:rank*n + n) = -rank
      call MPI_Gather(MPI_IN_PLACE, 0, MPI_INTEGER, in, n, MPI_INTEGER, root, MPI_COMM_WORLD, ierr)
    else
      call MPI_Gather(out, n, MPI_INTEGER, in, n, MPI_INTEGER, root, MPI_COMM_WORLD, ierr)
    end if
    call show('gather in place')
    call MPI_Gatherv(out, counts(rank + 1), MPI_INTEGER, in, counts, displs, MPI_INTEGER, root, MPI_COMM_WORLD, ierr)
    call show('gatherv')
    call MPI_Igatherv(out, counts(rank + 1), MPI_INTEGER, in, counts, displs, MPI_INTEGER, root, MPI_COMM_WORLD, r, ierr)
    call done('igatherv')

    call MPI_Scatter(out, n, MPI_INTEGER, in, n, MPI_INTEGER, root, MPI_COMM_WORLD, ierr)
    call show('scatter')
    call MPI_Iscatter(out, n, MPI_INTEGER, in, n, MPI_INTEGER, root, MPI_COMM_WORLD, r, ierr)
    call done('iscatter')
    if (rank == root) then
      call MPI_Scatter(out, n, MPI_INTEGER, MPI_IN_PLACE, n, MPI_INTEGER, root, MPI_COMM_WORLD, ierr)
    else
      call MPI_Scatter(out, n, MPI_INTEGER, in, n, MPI_INTEGER, root, MPI_COMM_WORLD, ierr)
    end if
    call show('scatter in place')
    call MPI_Scatterv(out, counts, displs, MPI_INTEGER, in, counts(rank + 1), MPI_INTEGER, root, MPI_COMM_WORLD, ierr)
    call show('scatterv')
    call MPI_Iscatterv(out, counts, displs, MPI_INTEGER, in, counts(rank + 1), MPI_INTEGER, root, MPI_COMM_WORLD, r, ierr)
    call done('iscatterv')

    call MPI_Allgather(out, n, MPI_INTEGER, in, n, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call show('allgather')
    in(rank*n + 1:rank*n + n) = -rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, n, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call show('allgather in place')
    call MPI_Iallgather(out, n, MPI_INTEGER, in, n, MPI_INTEGER, MPI_COMM_WORLD, r, ierr)
    call done('iallgather')
    call MPI_Allgatherv(out, counts(rank + 1), MPI_INTEGER, in, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call show('allgatherv')
    call MPI_Iallgatherv(out, counts(rank + 1), MPI_INTEGER, in, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, r, ierr)
    call done('iallgatherv')

    call MPI_Alltoall(out, n, MPI_INTEGER, in, n, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call show('alltoall')
    in = out
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, in, n, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call show('alltoall in place')
    call MPI_Ialltoall(out, n, MPI_INTEGER, in, n, MPI_INTEGER, MPI_COMM_WORLD, r, ierr)
    call done('ialltoall')
    counts = 5
    call MPI_Alltoallv(out, counts, displs, MPI_INTEGER, in, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call show('alltoallv')
    call MPI_Ialltoallv(out, counts, displs, MPI_INTEGER, in, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, r, ierr)
    call done('ialltoallv')
    call MPI_Alltoallw(out, counts, bytes, types, in, counts, bytes, types, MPI_COMM_WORLD, ierr)
    call show('alltoallw')
    call MPI_Ialltoallw(out, counts, bytes, types, in, counts, bytes, types, MPI_COMM_WORLD, r, ierr)
    call done('ialltoallw')
    in = out
    call MPI_Alltoallw(MPI_IN_PLACE, counts, bytes, types, in, counts, bytes, types, MPI_COMM_WORLD, ierr)
    call show('alltoallw in place')

    call MPI_Reduce(out, in, n, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, ierr)
    call show('reduce')
    call MPI_Ireduce(out, in, n, MPI_INTEGER, MPI_MAX, root, MPI_COMM_WORLD, r, ierr)
    call done('ireduce')
    if (rank == 0) then
      in = out
      call MPI_Reduce(MPI_IN_PLACE, in, n, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
    else
      call MPI_Reduce(out, in, n, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
    end if
    call show('reduce in place')
    call MPI_Allreduce(out, in, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call show('allreduce')
    in = out
    call MPI_Allreduce(MPI_IN_PLACE, in, n, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD, ierr)
    call show('allreduce in place')
    call MPI_Iallreduce(out, in, n, MPI_INTEGER, MPI_BXOR, MPI_COMM_WORLD, r, ierr)
    call done('iallreduce')
    call MPI_Reduce_scatter(out, in, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call show('reduce_scatter')
    call MPI_Ireduce_scatter(out, in, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r, ierr)
    call done('ireduce_scatter')
    call MPI_Reduce_scatter_block(out, in, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call show('reduce_scatter_block')
    call MPI_Ireduce_scatter_block(out, in, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r, ierr)
    call done('ireduce_scatter_block')
    call MPI_Scan(out, in, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call show('scan')
    in = out
    call MPI_Scan(MPI_IN_PLACE, in, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call show('scan in place')
    call MPI_Iscan(out, in, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r, ierr)
    call done('iscan')
    call MPI_Exscan(out, in, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (rank == 0) in = 0
    call show('exscan')
    call MPI_Iexscan(out, in, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r, ierr)
    call MPI_Wait(r, MPI_STATUS_IGNORE, ierr)
    if (rank == 0) in = 0
    call show('iexscan')

    ! An open line: periodic ones of 2 ranks are not the same everywhere.
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [size], [.false.], .false., grid, ierr)
    call neighbours(grid)
    call MPI_Comm_free(grid, ierr)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, [left, rank], MPI_UNWEIGHTED, 2, [right, rank], MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., grid, ierr)
    call neighbours(grid)
    call MPI_Comm_free(grid, ierr)
  end do

  ! Between two groups the host does it.
  call MPI_Comm_split(MPI_COMM_WORLD, merge(0, 1, rank == 0), rank, grid, ierr)
  call MPI_Intercomm_create(grid, 0, MPI_COMM_WORLD, merge(1, 0, rank == 0), 9, pair, ierr)
  counts = 2
  call reset()
  call MPI_Alltoallv(out, counts, displs, MPI_INTEGER, in, counts, displs, MPI_INTEGER, pair, ierr)
  call show('between groups')
#if DIALECT != 8
  ! The wrapper of MPICH for mpi_f08 takes the other group to be as large as ours.
  call MPI_Alltoallw(out, counts, bytes, types, in, counts, bytes, types, pair, ierr)
  call show('between groups')
#endif
  call MPI_Comm_free(pair, ierr)
  call MPI_Comm_free(grid, ierr)
  call finish()

contains
  subroutine reset()
    integer :: i
    out = [(rank*1000 + i, i=1, most)]
    in = -1
  end subroutine

  subroutine show(what)
    character(*), intent(in) :: what
    integer :: i
    call say(what, [n, sum(in), sum([(mod(i, 17)*in(i), i=1, most)]), in(1:4)])
    call reset()
  end subroutine

  subroutine done(what)
    character(*), intent(in) :: what
    call MPI_Wait(r, MPI_STATUS_IGNORE, ierr)
    call show(what)
  end subroutine

  subroutine neighbours(c)
    COMM :: c
    integer :: kind
    logical :: all_called
    call MPI_Topo_test(c, kind, ierr)
    ! The wrapper of MPICH for mpi_f08 takes every topology for a distributed graph.
    all_called = DIALECT /= 8 .or. kind == MPI_DIST_GRAPH
    call MPI_Neighbor_allgather(out, n, MPI_INTEGER, in, n, MPI_INTEGER, c, ierr)
    call show('neighbor_allgather')
    call MPI_Ineighbor_allgather(out, n, MPI_INTEGER, in, n, MPI_INTEGER, c, r, ierr)
    call done('ineighbor_allgather')
    call MPI_Neighbor_allgatherv(out, 5, MPI_INTEGER, in, counts, displs, MPI_INTEGER, c, ierr)
    call show('neighbor_allgatherv')
    call MPI_Neighbor_alltoall(out, n, MPI_INTEGER, in, n, MPI_INTEGER, c, ierr)
    call show('neighbor_alltoall')
    call MPI_Ineighbor_alltoall(out, n, MPI_INTEGER, in, n, MPI_INTEGER, c, r, ierr)
    call done('ineighbor_alltoall')
#ifdef NO_ALLTOALLV_ON_GRIDS
    if (.not. all_called) return
#endif
    call MPI_Neighbor_alltoallv(out, counts, displs, MPI_INTEGER, in, counts, displs, MPI_INTEGER, c, ierr)
    call show('neighbor_alltoallv')
    if (.not. all_called) return
    far = bytes
    call MPI_Neighbor_alltoallw(out, counts, far, types, in, counts, far, types, c, ierr)
    call show('neighbor_alltoallw')
    call MPI_Ineighbor_alltoallw(out, counts, far, types, in, counts, far, types, c, r, ierr)
    call done('ineighbor_alltoallw')
  end subroutine
#include "check.h"
end program
