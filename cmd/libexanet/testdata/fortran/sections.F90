! Sections of arrays: copied by the compiler, or, with mpi_f08 where it can do that,
! sent as they lie, by calls that do not block as well (SECTIONS).
#include "dialect.h"
program sections
  MPI_HEAD
  implicit none
  MPI_INCLUDE
#include "variables.h"
  integer :: a(8, 8), b(8, 8), cube(4, 5, 6), i, k
  STATUS(s)
  call begin()
  do k = 1, 8
    call fill()
    call MPI_Sendrecv(a(k, :), 8, MPI_INTEGER, right, 1, b(:, k), 8, MPI_INTEGER, left, 1, MPI_COMM_WORLD, s, ierr)
    call show('row to column')
    call MPI_Sendrecv(a(1:8:3, 2:6:2), 9, MPI_INTEGER, left, 1, b(2:7:2, 6:2:-2), 9, MPI_INTEGER, right, 1, &
                      MPI_COMM_WORLD, s, ierr)
    call show('every third')
    call MPI_Bcast(a(k, 1:8:2), 4, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    b = a
    call show('bcast')
    call MPI_Allgather(a(k, 1:2), 2, MPI_INTEGER, b(:, k), 2, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call show('allgather')
  end do
  call outer(a(:, 3:5))
  call inner(cube(2:3, :, 4))
#ifdef SECTIONS
  if (MPI_SUBARRAYS_SUPPORTED) call later()
#endif
  call finish()

contains
  subroutine fill()
    a = reshape([(rank*100 + i, i=1, 64)], [8, 8])
    b = -1
    cube = reshape([(rank*1000 + i, i=1, 120)], [4, 5, 6])
  end subroutine

  subroutine show(what)
    character(*), intent(in) :: what
    call say(what, [sum(b), sum([(mod(i, 13)*b(mod(i, 8) + 1, i/8 + 1), i=0, 63)]), count(b == -1)])
    call fill()
  end subroutine

  ! Of the shape that the caller gives.
  subroutine outer(x)
    integer :: x(:, :)
    call MPI_Sendrecv(x, 24, MPI_INTEGER, right, 2, b, 24, MPI_INTEGER, left, 2, MPI_COMM_WORLD, s, ierr)
    call show('assumed shape')
  end subroutine

  subroutine inner(x)
    integer :: x(:, :)
    call MPI_Sendrecv_replace(x, 10, MPI_INTEGER, right, 2, left, 2, MPI_COMM_WORLD, s, ierr)
    call say('replaced', [sum(cube), sum(cube(2:3, :, 4))])
    call MPI_Gather(x(1, :), 5, MPI_INTEGER, b, 5, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call show('gather')
  end subroutine

#ifdef SECTIONS
  subroutine later()
    type(MPI_Request) :: r(2)
    integer, asynchronous :: kept(8, 8)
    do k = 1, 8
      kept = -1
      call MPI_Irecv(kept(k, :), 8, MPI_INTEGER, left, 3, MPI_COMM_WORLD, r(1))
      call MPI_Isend(a(:, k), 8, MPI_INTEGER, right, 3, MPI_COMM_WORLD, r(2))
      call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
      b = kept
      call show('later')
      kept = a
      call MPI_Ibcast(kept(k, 2:5), 4, MPI_INTEGER, 0, MPI_COMM_WORLD, r(1))
      call MPI_Wait(r(1), MPI_STATUS_IGNORE)
      b = kept
      call show('later')
    end do
    kept = a
    call MPI_Recv_init(kept(2:7, 3:4), 12, MPI_INTEGER, left, 4, MPI_COMM_WORLD, r(1))
    call MPI_Send_init(a(1:6, 5:6), 12, MPI_INTEGER, right, 4, MPI_COMM_WORLD, r(2))
    do k = 1, 3
      call MPI_Startall(2, r)
      call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
      b = kept
      call show('persistent')
    end do
    call MPI_Request_free(r(1))
    call MPI_Request_free(r(2))
  end subroutine
#endif
#include "check.h"
end program
