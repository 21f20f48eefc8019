! What the programs share, behind contains: each rank says what it has seen, and rank
! 0 prints it in the order of the ranks.
  subroutine begin()
    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
    right = mod(rank + 1, size)
    left = mod(rank + size - 1, size)
  end subroutine

  subroutine say(what, a)
    character(*), intent(in) :: what
    integer, intent(in) :: a(:)
    said = said + 1
    write (lines(said), '(a,20i12)') what, a
  end subroutine

  subroutine say_status(what, s)
    character(*), intent(in) :: what
    STATUS(s)
    integer :: n
    call MPI_Get_count(s, MPI_INTEGER, n, ierr)
    call say(what//': source, tag, count', [SOURCE(s), TAG(s), n])
  end subroutine

  subroutine finish()
    integer :: i, k
    if (rank > 0) then
      call MPI_Send(said, 1, MPI_INTEGER, 0, 77, MPI_COMM_WORLD, ierr)
      call MPI_Send(lines, said*len(lines), MPI_CHARACTER, 0, 78, MPI_COMM_WORLD, ierr)
    else
      do i = 0, size - 1
        if (i > 0) then
          call MPI_Recv(said, 1, MPI_INTEGER, i, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
          call MPI_Recv(lines, said*len(lines), MPI_CHARACTER, i, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
        end if
        print '(a,i0)', 'rank ', i
        do k = 1, said
          print '(a)', trim(lines(k))
        end do
      end do
    end if
    call MPI_Finalize(ierr)
  end subroutine
