! Probes, matched ones as well.
#include "dialect.h"
program probe
  MPI_HEAD
  implicit none
  MPI_INCLUDE
#include "variables.h"
  integer :: in(5000), out(5000), k, n, i
  integer, parameter :: sizes(4) = [0, 3, 500, 5000]
  logical :: flag
  MESSAGE :: m
  REQUEST :: r, q
  STATUS(s)
  call begin()
  out = [(rank*10 + i, i=1, 5000)]
  do k = 1, 4
    n = sizes(k)
    do i = 1, 4
      in = 0
      call MPI_Isend(out, n, MPI_INTEGER, right, i, MPI_COMM_WORLD, q, ierr)
      select case (i)
      case (1)
        call MPI_Probe(left, MPI_ANY_TAG, MPI_COMM_WORLD, s, ierr)
        call say_status('probe', s)
        call MPI_Recv(in, n, MPI_INTEGER, left, TAG(s), MPI_COMM_WORLD, s, ierr)
      case (2)
        flag = .false.
        do while (.not. flag)
          call MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, flag, s, ierr)
        end do
        call say_status('iprobe', s)
        call MPI_Recv(in, n, MPI_INTEGER, SOURCE(s), 2, MPI_COMM_WORLD, s, ierr)
      case (3)
        call MPI_Mprobe(left, 3, MPI_COMM_WORLD, m, s, ierr)
        call say_status('mprobe', s)
        call MPI_Iprobe(left, 3, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE, ierr)
        call say('taken', [merge(1, 0, flag)])
        call MPI_Mrecv(in, n, MPI_INTEGER, m, s, ierr)
        call say('null', [merge(1, 0, m == MPI_MESSAGE_NULL)])
      case (4)
        flag = .false.
        do while (.not. flag)
          call MPI_Improbe(left, MPI_ANY_TAG, MPI_COMM_WORLD, flag, m, s, ierr)
        end do
        call say_status('improbe', s)
        call MPI_Imrecv(in, n, MPI_INTEGER, m, r, ierr)
        call MPI_Wait(r, s, ierr)
        call say('null', [merge(1, 0, m == MPI_MESSAGE_NULL)])
      end select
      call say_status('received', s)
      call say('sum', [sum(in(:n))])
      call MPI_Wait(q, MPI_STATUS_IGNORE, ierr)
    end do
  end do
  call MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, m, s, ierr)
  call say('no process', [merge(1, 0, m == MPI_MESSAGE_NO_PROC), SOURCE(s)])
  call MPI_Mrecv(in, 1, MPI_INTEGER, m, s, ierr)
  call say_status('no process', s)
  call MPI_Improbe(left, 5, MPI_COMM_WORLD, flag, m, s, ierr)
  call say('nothing', [merge(1, 0, flag)])
  call finish()

contains
#include "check.h"
end program
