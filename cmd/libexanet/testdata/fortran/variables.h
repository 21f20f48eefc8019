  integer :: ierr, rank, size, left, right, said = 0
  character(240) :: lines(3000)
