! Derived datatypes, absolute addresses, the types of Fortran.
#include "dialect.h"
program types
  MPI_HEAD
  implicit none
  MPI_INCLUDE
#include "variables.h"
  integer, parameter :: n = 12
  double precision :: x(n, n), y(n, n)
  integer :: i, j, k, m, elements, both(4)
  integer(MPI_ADDRESS_KIND) :: at(3), lb, extent
  DATATYPE :: t, u, v
  STATUS(s)
  character(20) :: text
  logical :: yes(3)
  complex :: c(2)
  complex(kind(1d0)) :: z(2)
  integer, parameter :: quad = selected_real_kind(30)
  real(quad) :: q(2)
  integer(selected_int_kind(18)) :: long
  call begin()

  call MPI_Type_vector(n, 1, n, MPI_DOUBLE_PRECISION, t, ierr)
  call move('row', 1)
  call MPI_Type_contiguous(n, MPI_DOUBLE_PRECISION, t, ierr)
  call move('column', 1)
  call MPI_Type_create_subarray(2, [n, n], [3, 4], [2, 5], MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, t, ierr)
  call move('subarray', 1)
  call MPI_Type_indexed(3, [2, 1, 4], [1, 20, 40], MPI_DOUBLE_PRECISION, t, ierr)
  call move('indexed', 2)
  call MPI_Type_create_indexed_block(3, 2, [1, 20, 40], MPI_DOUBLE_PRECISION, t, ierr)
  call move('indexed_block', 2)
  call MPI_Type_create_hvector(3, 2, 160_MPI_ADDRESS_KIND, MPI_DOUBLE_PRECISION, t, ierr)
  call move('hvector', 2)
  call MPI_Type_create_hindexed(2, [2, 3], [8_MPI_ADDRESS_KIND, 400_MPI_ADDRESS_KIND], MPI_DOUBLE_PRECISION, t, ierr)
  call move('hindexed', 1)
  call MPI_Type_vector(2, 1, 3, MPI_DOUBLE_PRECISION, u, ierr)
  call MPI_Type_create_resized(u, 0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND, t, ierr)
  call MPI_Type_free(u, ierr)
  call move('resized', 3)
  call MPI_Type_create_f90_real(15, 300, u, ierr)
  call MPI_Type_contiguous(5, u, t, ierr)
  call move('f90 real', 2)

  ! Absolute addresses and MPI_BOTTOM
  call fill()
  call MPI_Get_address(x(3, 3), at(1), ierr)
  call MPI_Get_address(x(7, 2), at(2), ierr)
  call MPI_Type_create_struct(2, [2, 3], at, [MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION], t, ierr)
  call MPI_Get_address(y(1, 1), at(1), ierr)
  call MPI_Get_address(y(1, 9), at(2), ierr)
  call MPI_Type_create_struct(2, [2, 3], at, [MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION], u, ierr)
  call MPI_Type_commit(t, ierr)
  call MPI_Type_commit(u, ierr)
  call MPI_Sendrecv(MPI_BOTTOM, 1, t, right, 1, MPI_BOTTOM, 1, u, left, 1, MPI_COMM_WORLD, s, ierr)
  call show('bottom')
  if (rank == 0) then
    call MPI_Bcast(MPI_BOTTOM, 1, t, 0, MPI_COMM_WORLD, ierr)
  else
    call MPI_Bcast(MPI_BOTTOM, 1, u, 0, MPI_COMM_WORLD, ierr)
  end if
  call show('bottom')
  call MPI_Type_free(t, ierr)
  call MPI_Type_free(u, ierr)

  ! A type with the same handle as one that has been freed.
  do k = 1, 5
    call MPI_Type_vector(k, 1, n, MPI_DOUBLE_PRECISION, t, ierr)
    call move('again', 1)
  end do

  ! Part of a vector arrives.
  call MPI_Type_contiguous(3, MPI_INTEGER, t, ierr)
  call MPI_Type_commit(t, ierr)
  both = [1, 2, 3, 4]
  call MPI_Sendrecv(both, 4, MPI_INTEGER, right, 2, x, 10, t, left, 2, MPI_COMM_WORLD, s, ierr)
  call MPI_Get_count(s, t, m, ierr)
  call MPI_Get_elements(s, t, elements, ierr)
  call say('count, elements', [m, elements])
  call MPI_Type_free(t, ierr)

  ! The types of Fortran
  text = 'rank '//achar(48 + rank)
  call MPI_Sendrecv_replace(text, 20, MPI_CHARACTER, right, 1, left, 1, MPI_COMM_WORLD, s, ierr)
  call say(trim(text), [0])
  yes = [rank == 0, .true., .false.]
  call MPI_Sendrecv_replace(yes, 3, MPI_LOGICAL, right, 1, left, 1, MPI_COMM_WORLD, s, ierr)
  call say('logical', merge(1, 0, yes))
  c = cmplx(rank, rank + 1)
  call MPI_Allreduce(MPI_IN_PLACE, c, 2, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierr)
  call say('complex', [nint(real(c)), nint(aimag(c))])
  z = cmplx(rank, 2*rank, kind(1d0))
  call MPI_Allreduce(MPI_IN_PLACE, z, 2, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierr)
  call say('double complex', [nint(real(z)), nint(aimag(z))])
  q = rank + 1
  call MPI_Sendrecv_replace(q, 2, MPI_REAL16, right, 1, left, 1, MPI_COMM_WORLD, s, ierr)
  call say('real16', nint(q))
  call MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 8, v, ierr)
  long = 2_8**40 + rank
  call MPI_Allreduce(MPI_IN_PLACE, long, 1, v, MPI_MAX, MPI_COMM_WORLD, ierr)
  call say('integer*8', [int(long - 2_8**40)])
  call finish()

contains
  subroutine fill()
    x = reshape([(rank*1000 + i, i=1, n*n)], [n, n])
    y = -1
  end subroutine

  subroutine show(what)
    character(*), intent(in) :: what
    call say(what, [nint(sum(y)), nint(sum([((y(i, j)*mod(i + 5*j, 13), i=1, n), j=1, n)])), count(y /= -1)])
  end subroutine

  ! move sends and receives with the type t, which it frees.
  subroutine move(what, times)
    character(*), intent(in) :: what
    integer, intent(in) :: times
    call MPI_Type_commit(t, ierr)
    call MPI_Type_get_extent(t, lb, extent, ierr)
    call fill()
    call MPI_Sendrecv(x, times, t, right, 1, y, times, t, left, 1, MPI_COMM_WORLD, s, ierr)
    call show(what)
    call fill()
    y = x
    call MPI_Bcast(y, times, t, 0, MPI_COMM_WORLD, ierr)
    call show(what)
    call MPI_Type_free(t, ierr)
    call say('freed', [int(extent), merge(1, 0, t == MPI_DATATYPE_NULL)])
  end subroutine
#include "check.h"
end program
