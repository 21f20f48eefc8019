! Operators of the program, which see Fortran's handles, and those of MPI with the
! types of Fortran. That which adds is one with large counts, where the host has them (LARGE).
#include "dialect.h"
module functions
  implicit none
contains
#if DIALECT == 8
  subroutine add(in, inout, n, t)
    use mpi_f08
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: in, inout
    integer :: n
    type(MPI_Datatype) :: t
    integer, pointer :: a(:), b(:)
    if (t /= MPI_INTEGER) stop 'wrong datatype'
    call c_f_pointer(in, a, [n])
    call c_f_pointer(inout, b, [n])
    b = a + b
  end subroutine

#ifdef LARGE
  subroutine add_many(in, inout, n, t)
    use mpi_f08, only: MPI_Datatype, MPI_COUNT_KIND, MPI_Op_create_c
    use, intrinsic :: iso_c_binding, only: c_ptr
    type(c_ptr), value :: in, inout
    integer(MPI_COUNT_KIND) :: n
    type(MPI_Datatype) :: t
    call add(in, inout, int(n), t)
  end subroutine
#endif

  ! The product of 2x2 matrices does not commute.
  subroutine product(in, inout, n, t)
    use mpi_f08
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: in, inout
    integer :: n, i, bytes
    type(MPI_Datatype) :: t
    integer, pointer :: a(:, :, :), b(:, :, :)
    call MPI_Type_size(t, bytes)
    if (bytes /= 16) stop 'wrong datatype'
    call c_f_pointer(in, a, [2, 2, n])
    call c_f_pointer(inout, b, [2, 2, n])
    do i = 1, n
      b(:, :, i) = mod(matmul(a(:, :, i), b(:, :, i)), 10007)
    end do
  end subroutine
#else
  subroutine add(a, b, n, t)
    include 'mpif.h'
    integer :: n, t, a(n), b(n)
    if (t /= MPI_INTEGER) stop 'wrong datatype'
    b = a + b
  end subroutine

  subroutine product(a, b, n, t)
    integer :: n, t, a(2, 2, n), b(2, 2, n), i, bytes, ierr
    external :: MPI_Type_size
    call MPI_Type_size(t, bytes, ierr)
    if (bytes /= 16) stop 'wrong datatype'
    do i = 1, n
      b(:, :, i) = mod(matmul(a(:, :, i), b(:, :, i)), 10007)
    end do
  end subroutine
#endif
end module

program ops
  use functions
  MPI_HEAD
  implicit none
  MPI_INCLUDE
#include "variables.h"
  integer, parameter :: sizes(3) = [1, 40, 5000]
  integer :: a(20000), b(20000), i, k, n, pairs(2, 3), best(2, 3)
  logical :: yes(2), commutes
  real :: x(2, 2), y(2, 2)
  double precision :: d(2), e(2)
  OP :: sum_op, matrix_op
  DATATYPE :: matrix
  REQUEST :: r
  call begin()
#ifdef LARGE
  call MPI_Op_create_c(add_many, .true., sum_op, ierr)
#else
  call MPI_Op_create(add, .true., sum_op, ierr)
#endif
  call MPI_Op_create(product, .false., matrix_op, ierr)
  call MPI_Op_commutative(matrix_op, commutes, ierr)
  call say('commutes', [merge(1, 0, commutes)])
  call MPI_Type_contiguous(4, MPI_INTEGER, matrix, ierr)
  call MPI_Type_commit(matrix, ierr)
  a = [(mod(rank*31 + i*7, 11), i=1, 20000)]
  do k = 1, 3
    n = sizes(k)
    b = 0
    call MPI_Reduce(a, b, n, MPI_INTEGER, sum_op, size - 1, MPI_COMM_WORLD, ierr)
    call show('reduce')
    call MPI_Allreduce(a, b, n, MPI_INTEGER, sum_op, MPI_COMM_WORLD, ierr)
    call show('allreduce')
    call MPI_Allreduce(a, b, n, matrix, matrix_op, MPI_COMM_WORLD, ierr)
    call show('matrices')
    call MPI_Iallreduce(a, b, n, matrix, matrix_op, MPI_COMM_WORLD, r, ierr)
    call MPI_Wait(r, MPI_STATUS_IGNORE, ierr)
    call show('matrices')
    call MPI_Scan(a, b, n, matrix, matrix_op, MPI_COMM_WORLD, ierr)
    call show('scan')
    call MPI_Reduce_scatter_block(a, b, n/size, MPI_INTEGER, sum_op, MPI_COMM_WORLD, ierr)
    call show('scatter')
    b = 1
    call MPI_Reduce_local(a, b, n, MPI_INTEGER, sum_op, ierr)
    call show('local')
  end do
  call MPI_Op_free(sum_op, ierr)
  call MPI_Op_free(matrix_op, ierr)
  call say('freed', [merge(1, 0, sum_op == MPI_OP_NULL)])
  call MPI_Type_free(matrix, ierr)

  yes = [rank == 0, rank >= 0]
  call MPI_Allreduce(MPI_IN_PLACE, yes, 2, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierr)
  call say('land', merge(1, 0, yes))
  yes = [rank == 0, .false.]
  call MPI_Allreduce(MPI_IN_PLACE, yes, 2, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierr)
  call say('lor', merge(1, 0, yes))
  yes = [rank == 0, .true.]
  call MPI_Allreduce(MPI_IN_PLACE, yes, 2, MPI_LOGICAL, MPI_LXOR, MPI_COMM_WORLD, ierr)
  call say('lxor', merge(1, 0, yes))
  pairs = reshape([mod(rank*7, 5), rank, mod(rank*3, 4), rank, 1, rank], [2, 3])
  call MPI_Allreduce(pairs, best, 3, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD, ierr)
  call say('maxloc', [best])
  x = reshape(real([rank*2, rank, -rank, rank]), [2, 2])
  call MPI_Allreduce(x, y, 2, MPI_2REAL, MPI_MINLOC, MPI_COMM_WORLD, ierr)
  call say('minloc', [nint(y)])
  d = [rank, 5]
  call MPI_Allreduce(d, e, 1, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, MPI_COMM_WORLD, ierr)
  call say('maxloc', [nint(e)])
  call finish()

contains
  subroutine show(what)
    character(*), intent(in) :: what
    call say(what, [n, sum(b), sum([(mod(i, 23)*b(i), i=1, 20000)])])
    b = 0
  end subroutine
#include "check.h"
end program
