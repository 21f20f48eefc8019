! A coarray program. The compiler makes windows and collectives of MPI of it:
! puts, gets, locks and atomics pass through to the host, reductions and
! broadcasts among the images are ours.
program coarrays
  use, intrinsic :: iso_fortran_env
  implicit none
  integer, parameter :: n = 1000
  integer :: me, all, i, k, next, old, want
  real(8) :: line(n)[*], total(n), biggest
  integer :: table(8)[*], counter[*], votes[*]
  integer(atomic_int_kind) :: ticket[*]
  integer, allocatable :: field(:, :)[:]
  type(lock_type) :: guard[*]
  type(event_type) :: ready[*]

  me = this_image()
  all = num_images()
  next = mod(me, all) + 1
  line = [(real(me, 8) * i, i = 1, n)]
  table = 0
  counter = 0
  votes = 0
  ticket = 0
  sync all

  ! puts and gets, whole and strided
  table(me)[1] = me * me
  total = line(:)[next]
  if (any(total /= [(real(next, 8) * i, i = 1, n)])) error stop "get"
  total(1:n/2) = line(2:n:2)[next]
  if (any(total(1:n/2) /= [(real(next, 8) * 2 * i, i = 1, n/2)])) error stop "strided get"
  sync all
  if (me == 1) print *, "puts", table(1:all)
  sync all

  ! halos of an allocatable coarray, neighbours only
  allocate(field(0:n + 1, 2)[*])
  field = me
  sync all
  if (me > 1) sync images (me - 1)
  if (me < all) then
     field(0, :)[me + 1] = field(n, :)
     field(n + 1, 1) = field(1, 1)[me + 1]
     sync images (me + 1)
  end if
  sync all
  if (me > 1 .and. any(field(0, :) /= me - 1)) error stop "halo"
  deallocate(field)

  ! one after the other
  do k = 1, 3
     lock (guard[1])
     votes[1] = votes[1] + me
     unlock (guard[1])
     critical
        counter[1] = counter[1] + 1
     end critical
     call atomic_add(ticket[1], me)
  end do
  sync all
  if (me == 1) then
     call atomic_ref(old, ticket)
     want = 3 * all * (all + 1) / 2
     print *, "locks", votes - want, counter - 3 * all, old - want
  end if

  ! events: each image tells the next one
  event post (ready[next])
  event wait (ready)

  ! collectives
  total = line
  call co_sum(total)
  if (any(total /= [(real(all * (all + 1) / 2, 8) * i, i = 1, n)])) error stop "co_sum"
  biggest = maxval(line)
  call co_max(biggest, result_image=1)
  total = -line
  call co_min(total)
  if (me == 1) print *, "sum, max, min", sum(line), biggest, minval(total)
  do k = 1, all
     table = me
     call co_broadcast(table, k)
     if (any(table /= k)) error stop "co_broadcast"
  end do
  i = me + 1
  call co_reduce(i, times)
  if (me == 1) print *, "product", i
  sync all
  if (me == all) print *, "done"
contains
  pure function times(a, b) result(c)
    integer, value :: a, b
    integer :: c
    c = a * b
  end function
end program
