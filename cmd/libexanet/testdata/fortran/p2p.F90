! Blocking and non-blocking point to point, every mode, at sizes on both sides of the
! protocols' limits; sendrecv, wildcards, MPI_PROC_NULL.
#include "dialect.h"
program p2p
  MPI_HEAD
  implicit none
  MPI_INCLUDE
#include "variables.h"
  integer, parameter :: most = 300000
  integer, parameter :: sizes(7) = [0, 1, 10, 11, 1024, 2100, most]
  integer :: out(most), in(most), k, n, mode, i, me, quarter
  character, target :: space(4*most + MPI_BSEND_OVERHEAD)
  REQUEST :: r, rs(8)
  STATUS(s)
  STATUSES(ss, 8)
  call begin()
  do k = 1, 7
    n = sizes(k)
    quarter = n/4
    do mode = 0, 3
      out = [(i*7 + rank + mode, i=1, most)]
      in = 0
      call MPI_Irecv(in, n, MPI_INTEGER, left, mode, MPI_COMM_WORLD, r, ierr)
      select case (mode)
      case (0)
        call MPI_Send(out, n, MPI_INTEGER, right, mode, MPI_COMM_WORLD, ierr)
      case (1)
        call MPI_Ssend(out, n, MPI_INTEGER, right, mode, MPI_COMM_WORLD, ierr)
      case (2)
        call MPI_Barrier(MPI_COMM_WORLD, ierr) ! the receive is posted
        call MPI_Rsend(out, n, MPI_INTEGER, right, mode, MPI_COMM_WORLD, ierr)
      case (3)
        call buffered(n, mode)
      end select
      call MPI_Wait(r, s, ierr)
      call say_status('irecv', s)
      call say('sum', [mode, sum(in(:n)), merge(1, 0, r == MPI_REQUEST_NULL)])
    end do
    do i = 0, 3
      call MPI_Irecv(in(1 + i*quarter), quarter, MPI_INTEGER, merge(MPI_ANY_SOURCE, left, size == 2), MPI_ANY_TAG, &
                     MPI_COMM_WORLD, rs(1 + i), ierr)
      if (i == 1) then
        call MPI_Issend(out(1 + i*quarter), quarter, MPI_INTEGER, right, 10 + i, MPI_COMM_WORLD, rs(5 + i), ierr)
      else
        call MPI_Isend(out(1 + i*quarter), quarter, MPI_INTEGER, right, 10 + i, MPI_COMM_WORLD, rs(5 + i), ierr)
      end if
    end do
    call MPI_Waitall(8, rs, ss, ierr)
    do i = 1, 4
      call say_status('waitall', AT(ss, i))
    end do
    call say('sum', [sum(in(:4*quarter))])
    in = -1
    call MPI_Sendrecv(out, n, MPI_INTEGER, left, 5, in, n, MPI_INTEGER, right, 5, MPI_COMM_WORLD, s, ierr)
    call say_status('sendrecv', s)
    call say('sum', [sum(in(:n))])
    call MPI_Sendrecv_replace(out, n, MPI_INTEGER, left, 6, right, 6, MPI_COMM_WORLD, s, ierr)
    call say_status('replace', s)
    call say('sum', [sum(out(:n))])
    call MPI_Irecv(in, n, MPI_INTEGER, left, 7, MPI_COMM_WORLD, rs(1), ierr)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_Irsend(out, n, MPI_INTEGER, right, 7, MPI_COMM_WORLD, rs(2), ierr)
    call MPI_Waitall(2, rs, MPI_STATUSES_IGNORE, ierr)
    call say('irsend', [sum(in(:n))])
  end do
  call MPI_Recv(in, 1, MPI_INTEGER, MPI_PROC_NULL, 3, MPI_COMM_WORLD, s, ierr)
  call say_status('null', s)
  call MPI_Send(in, 1, MPI_INTEGER, MPI_PROC_NULL, 3, MPI_COMM_WORLD, ierr)
  call MPI_Isend(rank, 1, MPI_INTEGER, 0, 4, MPI_COMM_SELF, r, ierr)
  me = -1
  call MPI_Recv(me, 1, MPI_INTEGER, 0, 4, MPI_COMM_SELF, s, ierr)
  call MPI_Wait(r, MPI_STATUS_IGNORE, ierr)
  call say_status('self', s)
  call say('from myself', [me])
  call finish()

contains
  subroutine buffered(n, tag)
#if DIALECT == 8
    use, intrinsic :: iso_c_binding, only: c_ptr, c_loc
#endif
    integer, intent(in) :: n, tag
#if DIALECT == 8
#ifdef LARGE
    integer(MPI_COUNT_KIND) :: length
#else
    integer :: length
#endif
    type(c_ptr) :: back
    call MPI_Buffer_attach(space, 4*n + MPI_BSEND_OVERHEAD)
    call MPI_Bsend(out, n, MPI_INTEGER, right, tag, MPI_COMM_WORLD)
    call MPI_Buffer_detach(back, length)
    call say('detached', [int(length), merge(1, 0, transfer(back, 0_8) == transfer(c_loc(space(1)), 0_8))])
#else
    integer :: back(2), length
    call MPI_Buffer_attach(space, 4*n + MPI_BSEND_OVERHEAD, ierr)
    call MPI_Bsend(out, n, MPI_INTEGER, right, tag, MPI_COMM_WORLD, ierr)
    call MPI_Buffer_detach(back, length, ierr)
    call say('detached', [length])
#endif
  end subroutine
#include "check.h"
end program
