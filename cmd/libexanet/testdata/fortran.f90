! mpif.h: the entry points of C are reached through the host's wrappers.
program fortran
  implicit none
  include 'mpif.h'
  integer :: ierr, rank, size, right, left, i, t, req(2), st(MPI_STATUS_SIZE), sts(MPI_STATUS_SIZE, 2), op
  integer :: a(10), b(10), n
  double precision :: x(4, 4), s, total
  logical :: yes, all
  external :: add
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  a = [(rank * 100 + i, i = 1, 10)]
  call MPI_Irecv(b, 10, MPI_INTEGER, left, MPI_ANY_TAG, MPI_COMM_WORLD, req(1), ierr)
  call MPI_Isend(a, 7, MPI_INTEGER, right, 5, MPI_COMM_WORLD, req(2), ierr)
  call MPI_Waitall(2, req, sts, ierr)
  call MPI_Get_count(sts(:, 1), MPI_INTEGER, n, ierr)
  if (n /= 7 .or. b(7) /= left * 100 + 7 .or. sts(MPI_TAG, 1) /= 5) print *, 'wrong message', rank, n, b
  x = rank
  call MPI_Type_vector(4, 1, 4, MPI_DOUBLE_PRECISION, t, ierr)
  call MPI_Type_commit(t, ierr)
  call MPI_Sendrecv_replace(x, 1, t, right, 1, left, 1, MPI_COMM_WORLD, st, ierr)
  if (any(x(1, :) /= left) .or. any(x(2, :) /= rank)) print *, 'wrong row', rank
  s = rank + 1
  call MPI_Allreduce(s, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Allreduce(MPI_IN_PLACE, s, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (s /= total .or. s /= size * (size + 1) / 2) print *, 'wrong sum', s, total
  call MPI_Op_create(add, .true., op, ierr)
  call MPI_Reduce(a, b, 10, MPI_INTEGER, op, 0, MPI_COMM_WORLD, ierr)
  yes = rank == 0
  call MPI_Allreduce(yes, all, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierr)
  call MPI_Recv(b, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  if (rank == 0) print *, 'sums', b, s, all
  call MPI_Finalize(ierr)
end program

subroutine add(a, b, n, t)
  implicit none
  integer :: n, t, a(n), b(n)
  b = a + b
end subroutine
