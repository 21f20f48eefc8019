! Communicators of every constructor, with messages on each.
#include "dialect.h"
program comm
  MPI_HEAD
  implicit none
  MPI_INCLUDE
#include "variables.h"
  integer :: i, n, new, dims(2), coords(2), neighbours(4)
  integer(MPI_ADDRESS_KIND) :: value
  logical :: periods(2), flag
  COMM :: c, d, other, grid
  GROUP :: all, some
  INFO :: hints
  REQUEST :: r
  call begin()

  call MPI_Comm_dup(MPI_COMM_WORLD, c, ierr)
  call use_it('dup', c)
  call MPI_Comm_split(c, mod(rank, 2), -rank, d, ierr)
  call use_it('split', d)
  call MPI_Comm_free(d, ierr)
  call say('freed', [merge(1, 0, d == MPI_COMM_NULL)])
  call MPI_Comm_split(c, merge(MPI_UNDEFINED, 1, rank == 0), rank, d, ierr)
  if (rank == 0) then
    call say('left out', [merge(1, 0, d == MPI_COMM_NULL)])
  else
    call use_it('without 0', d)
    call MPI_Comm_disconnect(d, ierr)
  end if
  call MPI_Comm_split_type(c, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, d, ierr)
  call use_it('shared', d)
  call MPI_Comm_free(d, ierr)
  call MPI_Info_create(hints, ierr)
  call MPI_Comm_dup_with_info(c, hints, d, ierr)
  call MPI_Info_free(hints, ierr)
  call use_it('with info', d)
  call MPI_Comm_free(d, ierr)
  call MPI_Comm_idup(c, d, r, ierr)
  call MPI_Wait(r, MPI_STATUS_IGNORE, ierr)
  call use_it('idup', d)
  call MPI_Comm_free(d, ierr)

  call MPI_Comm_group(c, all, ierr)
  call MPI_Group_excl(all, 1, [size - 1], some, ierr)
  call MPI_Comm_create(c, some, d, ierr)
  if (rank < size - 1) then
    call use_it('create', d)
    call MPI_Comm_free(d, ierr)
    call MPI_Comm_create_group(c, some, 5, d, ierr)
    call use_it('create_group', d)
    call MPI_Comm_free(d, ierr)
  end if
  call MPI_Group_free(all, ierr)
  call MPI_Group_free(some, ierr)

  dims = 0
  call MPI_Dims_create(size, 2, dims, ierr)
  periods = [.true., .false.]
  call MPI_Cart_create(c, 2, dims, periods, .true., grid, ierr)
  call use_it('cart', grid)
  call MPI_Cart_get(grid, 2, dims, periods, coords, ierr)
  call say('cart', [dims, coords, merge(1, 0, periods)])
  call MPI_Cart_shift(grid, 0, 1, i, n, ierr)
  call say('shift', [i, n])
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, n, 1, new, 1, MPI_INTEGER, i, 1, grid, MPI_STATUS_IGNORE, ierr)
  call say('shifted', [new])
  call MPI_Cart_sub(grid, [.true., .false.], d, ierr)
  call use_it('sub', d)
  call MPI_Comm_free(d, ierr)
  call MPI_Comm_free(grid, ierr)

  ! A ring, by both graphs.
  call MPI_Graph_create(c, size, [(2*i, i=1, size)], [(mod(i + size - 1, size), mod(i + 1, size), i=0, size - 1)], &
                        .false., d, ierr)
  call use_it('graph', d)
  neighbours = -1
  call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, neighbours, 1, MPI_INTEGER, d, ierr)
  call say('graph', neighbours)
  call MPI_Comm_free(d, ierr)
  call MPI_Dist_graph_create_adjacent(c, 2, [left, right], MPI_UNWEIGHTED, 1, [right], MPI_UNWEIGHTED, MPI_INFO_NULL, &
                                      .false., d, ierr)
  call MPI_Comm_free(d, ierr)
  call MPI_Dist_graph_create_adjacent(c, 1, [left], MPI_UNWEIGHTED, 1, [right], MPI_UNWEIGHTED, MPI_INFO_NULL, &
                                      .false., d, ierr)
  call use_it('adjacent', d)
  neighbours = -1
  call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, neighbours, 1, MPI_INTEGER, d, ierr)
  call say('adjacent', neighbours)
  call MPI_Comm_free(d, ierr)
  call MPI_Dist_graph_create(c, 1, [rank], [1], [right], [7], MPI_INFO_NULL, .false., d, ierr)
  call use_it('dist_graph', d)
  call MPI_Comm_free(d, ierr)

  ! What is not ours: an intercommunicator, and what is merged from it.
  call MPI_Comm_split(c, merge(0, 1, rank == 0), rank, d, ierr)
  call MPI_Intercomm_create(d, 0, c, merge(1, 0, rank == 0), 9, other, ierr)
  new = -1
  if (rank == 0) then
    call MPI_Send(42, 1, MPI_INTEGER, 0, 2, other, ierr)
  else if (rank == 1) then
    call MPI_Recv(new, 1, MPI_INTEGER, 0, 2, other, MPI_STATUS_IGNORE, ierr)
  end if
  call say('inter', [new])
  call MPI_Intercomm_merge(other, rank > 0, grid, ierr)
  call use_it('merged', grid)
  call MPI_Comm_free(grid, ierr)
  call MPI_Comm_free(other, ierr)
  call MPI_Comm_free(d, ierr)
  call MPI_Comm_free(c, ierr)

  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
  call say('tags', [merge(1, 0, flag .and. value >= 32767)])
  call finish()

contains
  subroutine use_it(what, c)
    character(*), intent(in) :: what
    COMM :: c
    integer :: me, many, got, total
    call MPI_Comm_rank(c, me, ierr)
    call MPI_Comm_size(c, many, ierr)
    got = -1
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, mod(me + 1, many), 1, got, 1, MPI_INTEGER, mod(me + many - 1, many), 1, c, &
                      MPI_STATUS_IGNORE, ierr)
    call MPI_Allreduce(rank + 1, total, 1, MPI_INTEGER, MPI_SUM, c, ierr)
    call say(what, [me, many, got, total])
  end subroutine
#include "check.h"
end program
