! Error codes and error handlers.
#include "dialect.h"
module handlers
  implicit none
  integer :: seen = 0
contains
  subroutine handler(comm, code)
#if DIALECT == 8
    use mpi_f08
    type(MPI_Comm) :: comm
#else
    integer :: comm
#endif
    integer :: code
    seen = seen + 1
  end subroutine
end module

program errors
  use handlers
  MPI_HEAD
  implicit none
  MPI_INCLUDE
#include "variables.h"
  integer :: a(100), code, class
  COMM :: c
  ERRHANDLER :: h
  REQUEST :: r(2)
  STATUS(s)
  STATUSES(ss, 2)
  call begin()
  a = rank
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call MPI_Send(a, 1, MPI_INTEGER, size, 0, MPI_COMM_WORLD, code)
  call MPI_Error_class(code, class, ierr)
  call say('no such rank', [merge(1, 0, class == MPI_ERR_RANK)])
  call MPI_Send(a, 1, MPI_INTEGER, right, -5, MPI_COMM_WORLD, code)
  call MPI_Error_class(code, class, ierr)
  call say('no such tag', [merge(1, 0, class == MPI_ERR_TAG)])
  call MPI_Bcast(a, 1, MPI_INTEGER, size, MPI_COMM_WORLD, code)
  call MPI_Error_class(code, class, ierr)
  call say('no such root', [merge(1, 0, class == MPI_ERR_ROOT)])

  call MPI_Isend(a, 20, MPI_INTEGER, right, 1, MPI_COMM_WORLD, r(1), ierr)
  call MPI_Recv(a(50), 10, MPI_INTEGER, left, 1, MPI_COMM_WORLD, s, code)
  call MPI_Error_class(code, class, ierr)
  call say('too long', [merge(1, 0, class == MPI_ERR_TRUNCATE)])
  call MPI_Wait(r(1), MPI_STATUS_IGNORE, ierr)
  call MPI_Irecv(a(50), 10, MPI_INTEGER, left, 1, MPI_COMM_WORLD, r(1), ierr)
  call MPI_Isend(a, 20, MPI_INTEGER, right, 1, MPI_COMM_WORLD, r(2), ierr)
  call MPI_Waitall(2, r, ss, code)
  call MPI_Error_class(code, class, ierr)
  call say('in status', [merge(1, 0, class == MPI_ERR_IN_STATUS)])

  call MPI_Comm_dup(MPI_COMM_WORLD, c, ierr)
  call MPI_Comm_create_errhandler(handler, h, ierr)
  call MPI_Comm_set_errhandler(c, h, ierr)
  call MPI_Send(a, 1, MPI_INTEGER, size, 0, c, code)
  call say('handler', [seen, merge(1, 0, code /= MPI_SUCCESS)])
  call MPI_Isend(a, 20, MPI_INTEGER, right, 1, c, r(1), ierr)
  call MPI_Recv(a(50), 10, MPI_INTEGER, left, 1, c, s, code)
  ! MPICH 5.0.2 returns MPI_SUCCESS.
  call say('handler', [seen, merge(1, 0, code /= MPI_SUCCESS .or. MPI_VERSION >= 5)])
  call MPI_Wait(r(1), MPI_STATUS_IGNORE, ierr)
  call MPI_Errhandler_free(h, ierr)
  call MPI_Comm_free(c, ierr)
  call finish()

contains
#include "check.h"
end program
