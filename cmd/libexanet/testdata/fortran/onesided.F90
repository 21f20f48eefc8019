! Windows are the host's: who waits for a message of ours lets the host make progress
! for a peer that locks its window.
#include "dialect.h"
program onesided
  MPI_HEAD
  implicit none
  MPI_INCLUDE
#include "variables.h"
  integer :: memory(10), in, i, k
  integer(MPI_ADDRESS_KIND) :: at
  WIN :: w
  call begin()
  do k = 1, 3
    memory = -1
    call MPI_Win_create(memory, 40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, w, ierr)
    at = 2
    call MPI_Win_fence(0, w, ierr)
    call MPI_Put([rank, k], 2, MPI_INTEGER, right, at, 2, MPI_INTEGER, w, ierr)
    call MPI_Win_fence(0, w, ierr)
    call say('fence', memory(1:5))
    if (rank == 0) then
      call MPI_Recv(in, 1, MPI_INTEGER, size - 1, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call say('received', [in])
    else
      at = 4 + mod(rank, 4)
      call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w, ierr)
      call MPI_Put(rank*10 + k, 1, MPI_INTEGER, 0, at, 1, MPI_INTEGER, w, ierr)
      call MPI_Win_unlock(0, w, ierr)
      if (rank == size - 1) call MPI_Send(k, 1, MPI_INTEGER, 0, k, MPI_COMM_WORLD, ierr)
    end if
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_Win_free(w, ierr)
    call say('freed', [merge(1, 0, w == MPI_WIN_NULL), memory(5:8)])
    call MPI_Bcast(in, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call say('bcast', [in])
  end do
  call finish()

contains
#include "check.h"
end program
