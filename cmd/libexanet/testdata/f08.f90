! All in mpi_f08, whose wrappers in MPICH do not all come through the entry points of
! C. For sections of arrays they make datatypes of their own, which they free at once.
program f08
  use mpi_f08
  implicit none
  integer :: rank, size, left, right, i, row, b(3), m(6, 6)
  type(MPI_Request) :: r, both(2)
  type(MPI_Status) :: s
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  left = mod(rank + size - 1, size)
  right = mod(rank + 1, size)
  call MPI_Irecv(b, 3, MPI_INTEGER, left, 0, MPI_COMM_WORLD, r)
  call MPI_Send([rank, 2, 3], 3, MPI_INTEGER, right, 0, MPI_COMM_WORLD)
  call MPI_Wait(r, s)
  if (s%MPI_SOURCE /= left .or. b(1) /= left) print *, 'wrong message', s%MPI_SOURCE, b
  call MPI_Allreduce(MPI_IN_PLACE, b, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print *, b
  do row = 1, 3
    m = -1
    call MPI_Irecv(m(row, :), 6, MPI_INTEGER, left, 1, MPI_COMM_WORLD, both(1))
    call MPI_Isend([(i + rank * 10, i=1, 6)], 6, MPI_INTEGER, right, 1, MPI_COMM_WORLD, both(2))
    call MPI_Waitall(2, both, MPI_STATUSES_IGNORE)
    if (rank == 0) print *, m
    call MPI_Irecv(m(1:6:2, 2:3), 6, MPI_INTEGER, left, 1, MPI_COMM_WORLD, both(1))
    call MPI_Isend(m(row, :), 6, MPI_INTEGER, right, 1, MPI_COMM_WORLD, both(2))
    call MPI_Waitall(2, both, MPI_STATUSES_IGNORE)
    if (rank == 0) print *, m
  end do
  call MPI_Finalize()
end program
