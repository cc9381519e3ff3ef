/* The interface between libcleave_rt and the module cleave_comm_mpi. It is plain C, so that executables neither link
 * MPI nor export symbols. The module defines `const cleave_mpi_api *cleave_mpi(void)`. Functions return 0, or write a
 * message and return another number. Every wait for other ranks has a limit in seconds, except MPI's own start and end,
 * which cannot be given up (see join). `give_up` may be NULL. It is called while an exchange waits,
 * with the ranks that it still waits for (-1: that side is done). If it returns a number other than 0, the exchange ends
 * with CLEAVE_MPI_GAVE_UP. */
#ifndef CLEAVE_RUNTIME_COMM_MPI_MPIAPI_H
#define CLEAVE_RUNTIME_COMM_MPI_MPIAPI_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CLEAVE_MPI_ABI 6
#define CLEAVE_MPI_GAVE_UP 2

/* A message to one rank and a message from another, which are under way at the same time. With to = rank + 1 and
 * from = rank - 1, all ranks of a ring shift their data by one place, and no rank waits for another to receive
 * first. */
typedef struct cleave_mpi_exchange {
  int to; /* a rank; below 0: nothing is sent */
  const void *send_data;
  size_t send_bytes;
  int from; /* a rank; below 0: nothing is received */
  void *receive_data;
  size_t receive_bytes;
  int channel;
  double timeout_seconds;
  int poll_us; /* microseconds of sleep between polls, after the first ones; 0: 5, later 50 */
  int (*give_up)(void *context, int from, int to);
  void *context;
} cleave_mpi_exchange;

typedef struct cleave_mpi_api {
  int abi;
  /* Joins the world. Its communicator has no messages of earlier sessions or of the embedding program. After a failure,
   * the process cannot join again. If ends_process is not 0, the limit also holds for MPI's own start and end, where it
   * is at least 10 s and ends the process. A library has no such limit: nobody knows what its host does before and
   * after its sessions, and how long. */
  int (*join)(double timeout_seconds, int ends_process, int *rank, int *size, char *error, size_t error_size);
  int (*exchange)(const cleave_mpi_exchange *step, char *error, size_t error_size);
  /* Gathers `bytes` of every rank, by rank, in `all`. Called by one thread at a time, with nothing else under way. */
  int (*all_gather)(const void *mine, size_t bytes, void *all, double timeout_seconds, char *error, size_t error_size);
  /* Waits for the others to leave. A process may join again after it. If it exits after it has joined, but without this
   * call or after its failure, the launcher takes it for failed. */
  int (*leave)(double timeout_seconds, char *error, size_t error_size);
} cleave_mpi_api;

const cleave_mpi_api *cleave_mpi(void);

#ifdef __cplusplus
}
#endif
#endif
