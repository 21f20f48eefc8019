! The dialects of Fortran, DIALECT being 77 (mpif.h), 90 (use mpi) or 8 (use mpi_f08).
! A program begins with MPI_HEAD and, behind implicit none, MPI_INCLUDE.
#if DIALECT == 8
#define MPI_HEAD use mpi_f08
#define MPI_INCLUDE
#define COMM type(MPI_Comm)
#define GROUP type(MPI_Group)
#define REQUEST type(MPI_Request)
#define MESSAGE type(MPI_Message)
#define DATATYPE type(MPI_Datatype)
#define OP type(MPI_Op)
#define ERRHANDLER type(MPI_Errhandler)
#define INFO type(MPI_Info)
#define WIN type(MPI_Win)
#define STATUS(s) type(MPI_Status) :: s
#define STATUSES(s, n) type(MPI_Status) :: s(n)
#define AT(s, i) s(i)
#define SOURCE(s) s%MPI_SOURCE
#define TAG(s) s%MPI_TAG
#else
#if DIALECT == 90
#define MPI_HEAD use mpi
#define MPI_INCLUDE
#else
#define MPI_HEAD
#define MPI_INCLUDE include 'mpif.h'
#endif
#define COMM integer
#define GROUP integer
#define REQUEST integer
#define MESSAGE integer
#define DATATYPE integer
#define OP integer
#define ERRHANDLER integer
#define INFO integer
#define WIN integer
#define STATUS(s) integer :: s(MPI_STATUS_SIZE)
#define STATUSES(s, n) integer :: s(MPI_STATUS_SIZE, n)
#define AT(s, i) s(:, i)
#define SOURCE(s) s(MPI_SOURCE)
#define TAG(s) s(MPI_TAG)
#endif
