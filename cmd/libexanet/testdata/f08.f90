! use mpi_f08, whose wrappers in MPICH do not all come through the entry points of C, in
! a program that initialises MPI in the old way.
program f08
  use mpi_f08
  integer :: rank, size, b(3)
  type(MPI_Request) :: r
  type(MPI_Status) :: s
  call old()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call MPI_Irecv(b, 3, MPI_INTEGER, mod(rank + size - 1, size), 0, MPI_COMM_WORLD, r)
  call MPI_Send([rank, 2, 3], 3, MPI_INTEGER, mod(rank + 1, size), 0, MPI_COMM_WORLD)
  call MPI_Wait(r, s)
  call MPI_Allreduce(MPI_IN_PLACE, b, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print *, b
  call MPI_Finalize()
end program

subroutine old
  external :: MPI_Init
  integer :: ierr
  call MPI_Init(ierr)
end subroutine
