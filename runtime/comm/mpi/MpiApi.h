/* Between libcleave_rt and the module cleave_comm_mpi: plain C, so that executables neither link MPI nor export
 * symbols. The module defines `const cleave_mpi_api *cleave_mpi(void)`. Functions return 0, or write a message. An
 * exchange that `give_up` (may be NULL; asked at each poll) ends returns CLEAVE_MPI_GAVE_UP; it is told for whom the
 * exchange still waits, -1 where a side is done. */
#ifndef CLEAVE_RUNTIME_COMM_MPI_MPIAPI_H
#define CLEAVE_RUNTIME_COMM_MPI_MPIAPI_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CLEAVE_MPI_ABI 4
#define CLEAVE_MPI_GAVE_UP 2

/* A message to one rank and a message from another, under way at the same time: with to = rank + 1 and
 * from = rank - 1, all ranks of a ring shift their data by one place, and none waits for another to receive first. */
typedef struct cleave_mpi_exchange {
  int to; /* a rank; below 0: this side is left out */
  const void *send_data;
  size_t send_bytes;
  int from;
  void *receive_data;
  size_t receive_bytes;
  int channel;
  double timeout_seconds;
  int poll_us; /* sleep between polls after the first ones; 0: short */
  int (*give_up)(void *context, int from, int to);
  void *context;
} cleave_mpi_exchange;

typedef struct cleave_mpi_api {
  int abi;
  /* Joins the world, in which messages of an earlier time or of the embedding program do not show. */
  int (*join)(int *rank, int *size, char *error, size_t error_size);
  int (*exchange)(const cleave_mpi_exchange *step, char *error, size_t error_size);
  /* `bytes` of every rank, side by side in `all`; called by one thread at a time, with nothing else under way. */
  int (*all_gather)(const void *mine, size_t bytes, void *all, char *error, size_t error_size);
  /* Waits for the others to leave; one may join again after it. A process that exits without it, having joined, tells
   * the launcher that it has failed. */
  void (*leave)(void);
} cleave_mpi_api;

const cleave_mpi_api *cleave_mpi(void);

#ifdef __cplusplus
}
#endif
#endif
