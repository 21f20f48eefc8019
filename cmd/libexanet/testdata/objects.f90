! A rank that waits sleeps when the host's objects, made in Fortran, are gone.
program objects
  use mpi
  implicit none
  integer :: win, ierr, rank, size, i, x(8), y
  integer :: inter, half, merged
  integer(kind=MPI_ADDRESS_KIND) :: n
  real :: t0, t1
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  n = 32
  call MPI_Win_create(x, n, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
  call MPI_Win_fence(0, win, ierr)
  call MPI_Win_free(win, ierr)
  call MPI_Comm_split(MPI_COMM_WORLD, rank, 0, half, ierr)
  call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1-rank, 5, inter, ierr)
  call MPI_Intercomm_merge(inter, .false., merged, ierr)
  call MPI_Barrier(merged, ierr)
  call MPI_Comm_free(merged, ierr)
  call MPI_Comm_free(inter, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call cpu_time(t0)
  if (rank == 0) then
    call sleep(1)
    call MPI_Send(y, 1, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, ierr)
  else
    call MPI_Recv(y, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  end if
  call cpu_time(t1)
  if (rank == 1) print *, merge('slept ', 'polled', t1 - t0 < 0.1)
  call MPI_Finalize(ierr)
end program
