! The wait and test families, persistent requests, cancel, more requests at once than
! fit into any small array.
#include "dialect.h"
program wait
  MPI_HEAD
  implicit none
  MPI_INCLUDE
#include "variables.h"
  integer, parameter :: many = 150
  integer :: in(many), out(many), i, n, k, index, indices(many), found
  logical :: flag, seen(many)
  REQUEST :: r, q(many), both(2)
  STATUS(s)
  STATUSES(ss, many)
  call begin()
  out = [(rank*1000 + i, i=1, many)]

  ! Waitall and Testall
  in = 0
  do i = 1, many/2
    call MPI_Irecv(in(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, q(i), ierr)
    call MPI_Isend(out(i), 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, q(many/2 + i), ierr)
  end do
  call MPI_Waitall(many, q, ss, ierr)
  call say_status('waitall', AT(ss, many/2))
  call say('sum', [sum(in), count([(q(i) == MPI_REQUEST_NULL, i=1, many)])])
  in = 0
  do i = 1, many/2
    call MPI_Irecv(in(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, q(i), ierr)
    call MPI_Isend(out(i), 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, q(many/2 + i), ierr)
  end do
  flag = .false.
  do while (.not. flag)
    call MPI_Testall(many, q, flag, MPI_STATUSES_IGNORE, ierr)
  end do
  call say('testall', [sum(in), count([(q(i) == MPI_REQUEST_NULL, i=1, many)])])

  ! Waitany and Testany: what ends is told apart by what has arrived.
  do k = 1, 2
    in = 0
    q = MPI_REQUEST_NULL
    do i = 1, 9
      call MPI_Irecv(in(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, q(i), ierr)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    do i = 9, 1, -1
      call MPI_Send(out(i), 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, ierr)
    end do
    found = 0
    n = 0
    do while (n < 9)
      if (k == 1) then
        call MPI_Waitany(many, q, index, s, ierr)
        flag = .true.
      else
        call MPI_Testany(many, q, index, flag, s, ierr)
      end if
      if (flag) then
        n = n + 1
        found = found + index*TAG(s) ! which the host counts from 0 or 1
      end if
    end do
    call say('any', [found, sum(in)])
    call MPI_Testany(many, q, index, flag, s, ierr)
    if (index == MPI_UNDEFINED + 1) index = MPI_UNDEFINED ! as MPICH 4.2.1 alone has it in mpi_f08
    call say('none', [index, merge(1, 0, flag), SOURCE(s), TAG(s)])
    call MPI_Waitany(many, q, index, MPI_STATUS_IGNORE, ierr)
    if (index == MPI_UNDEFINED + 1) index = MPI_UNDEFINED
    call say('none', [index])
  end do

  ! Waitsome and Testsome
  do k = 1, 2
    in = 0
    do i = 1, 9
      call MPI_Irecv(in(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, q(i), ierr)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    do i = 9, 1, -1
      call MPI_Send(out(i), 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, ierr)
    end do
    found = 0
    index = 0
    do while (found < 9)
      if (k == 1) then
        call MPI_Waitsome(9, q, n, indices, ss, ierr)
      else
        call MPI_Testsome(9, q, n, indices, ss, ierr)
      end if
      do i = 1, n
        s = AT(ss, i)
        index = index + indices(i)*TAG(s)
      end do
      found = found + max(n, 0)
    end do
    call say('some', [index, sum(in)])
    call MPI_Waitsome(9, q, n, indices, MPI_STATUSES_IGNORE, ierr)
    call say('none', [n])
  end do

  ! Test, Request_get_status, Request_free
  call MPI_Irecv(in, 3, MPI_INTEGER, left, 1, MPI_COMM_WORLD, r, ierr)
  call MPI_Test(r, flag, s, ierr)
  call say('too early', [merge(1, 0, flag)])
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_Isend(out, 3, MPI_INTEGER, right, 1, MPI_COMM_WORLD, q(1), ierr)
  call MPI_Request_free(q(1), ierr)
  call say('freed', [merge(1, 0, q(1) == MPI_REQUEST_NULL)])
  flag = .false.
  do while (.not. flag)
    call MPI_Request_get_status(r, flag, s, ierr)
  end do
  call say_status('get_status', s)
  flag = .false.
  do while (.not. flag)
    call MPI_Test(r, flag, s, ierr)
  end do
  call say_status('test', s)
  call say('null', [merge(1, 0, r == MPI_REQUEST_NULL), in(1:3)])
  call MPI_Wait(r, s, ierr)
  call say('wait for none', [SOURCE(s), TAG(s)])

  ! Persistent
  call MPI_Recv_init(in, 4, MPI_INTEGER, left, 3, MPI_COMM_WORLD, both(1), ierr)
  call MPI_Ssend_init(out, 4, MPI_INTEGER, right, 3, MPI_COMM_WORLD, both(2), ierr)
  do k = 1, 3
    out(1:4) = k*10 + rank
    in = -1
    call MPI_Startall(2, both, ierr)
    call MPI_Waitall(2, both, ss, ierr)
    call say('persistent', in(1:4))
    call say_status('persistent', AT(ss, 1))
  end do
  call MPI_Request_free(both(1), ierr)
  call MPI_Request_free(both(2), ierr)
  call MPI_Send_init(out, 4, MPI_INTEGER, right, 3, MPI_COMM_WORLD, both(1), ierr)
  call MPI_Rsend_init(out, 4, MPI_INTEGER, right, 4, MPI_COMM_WORLD, both(2), ierr)
  call MPI_Irecv(in(1), 4, MPI_INTEGER, left, 3, MPI_COMM_WORLD, q(1), ierr)
  call MPI_Irecv(in(5), 4, MPI_INTEGER, left, 4, MPI_COMM_WORLD, q(2), ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_Start(both(1), ierr)
  call MPI_Start(both(2), ierr)
  call MPI_Waitall(2, both, MPI_STATUSES_IGNORE, ierr)
  call MPI_Waitall(2, q, MPI_STATUSES_IGNORE, ierr)
  call say('started', [in(1:8), merge(1, 0, both(1) == MPI_REQUEST_NULL)])
  call MPI_Request_free(both(1), ierr)
  call MPI_Request_free(both(2), ierr)

  ! Cancel
  call MPI_Irecv(in, 4, MPI_INTEGER, left, 99, MPI_COMM_WORLD, r, ierr)
  call MPI_Cancel(r, ierr)
  call MPI_Wait(r, s, ierr)
  call MPI_Test_cancelled(s, flag, ierr)
  call say('cancelled', [merge(1, 0, flag)])

  ! Ours and the host's together: generalized requests are the host's.
  call mixed()
  call finish()

contains
  subroutine mixed()
    external :: query, release, cancel
    integer(MPI_ADDRESS_KIND) :: state
    state = 5
#if DIALECT != 8
    call MPI_Grequest_start(query, release, cancel, state, q(1), ierr)
    call MPI_Irecv(in, 2, MPI_INTEGER, left, 8, MPI_COMM_WORLD, q(2), ierr)
    call MPI_Isend(out, 2, MPI_INTEGER, right, 8, MPI_COMM_WORLD, q(3), ierr)
    call MPI_Testall(3, q, flag, ss, ierr)
    call say('not yet', [merge(1, 0, flag)])
    call MPI_Grequest_complete(q(1), ierr)
    call MPI_Waitall(3, q, ss, ierr)
    call say_status('mixed', AT(ss, 2))
    call say('mixed', in(1:2))
#endif
  end subroutine
#include "check.h"
end program

subroutine query(state, status, ierr)
  include 'mpif.h'
  integer(MPI_ADDRESS_KIND) :: state
  integer :: status(MPI_STATUS_SIZE), ierr
  call MPI_Status_set_elements(status, MPI_INTEGER, int(state), ierr)
  call MPI_Status_set_cancelled(status, .false., ierr)
  status(MPI_SOURCE) = MPI_UNDEFINED
  status(MPI_TAG) = MPI_UNDEFINED
end subroutine

subroutine release(state, ierr)
  include 'mpif.h'
  integer(MPI_ADDRESS_KIND) :: state
  integer :: ierr
  ierr = MPI_SUCCESS
end subroutine

subroutine cancel(state, complete, ierr)
  include 'mpif.h'
  integer(MPI_ADDRESS_KIND) :: state
  logical :: complete
  integer :: ierr
  ierr = MPI_SUCCESS
end subroutine
