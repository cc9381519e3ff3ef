/* For LD_PRELOAD: stops the process of rank 1 (under Open MPI) within the call that CLEAVE_TEST_STOP_IN names. */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void stop(const char *call) {
  const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *asked = getenv("CLEAVE_TEST_STOP_IN");
  if (rank && strcmp(rank, "1") == 0 && asked && strcmp(asked, call) == 0)
    raise(SIGSTOP);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
  stop("MPI_Init_thread");
  return ((int (*)(int *, char ***, int, int *))dlsym(RTLD_DEFAULT, "PMPI_Init_thread"))(argc, argv, required,
                                                                                         provided);
}

int MPI_Finalize(void) {
  stop("MPI_Finalize");
  return ((int (*)(void))dlsym(RTLD_DEFAULT, "PMPI_Finalize"))();
}
