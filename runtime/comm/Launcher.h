// How this process was started: alone, or as one of several, by what launchers leave in the environment.
//
//   mpirun, srun --mpi=pmix   OMPI_COMM_WORLD_SIZE, PMI_SIZE, PMIX_RANK, ...        MPI (MpiCommunicator.h)
//   torchrun, scripts         RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT            TCP (TcpCommunicator.h)
//   srun                      SLURM_PROCID, SLURM_STEP_NUM_TASKS                    TCP
//
// Launchers start each other, and variables are inherited. mpirun is then the inner one; torchrun is inside srun. MPI's
// variables win over Slurm's own numbers, since MPI is faster; whether it is installed is not asked. CLEAVE_COMM=mpi or
// tcp overrides all that. CLEAVE_COMM=tcp needs the numbers of one of them: without them a process is alone.
//
// Rank 0 listens at MASTER_PORT of MASTER_ADDR. Under torchrun that port is PyTorch's own (its agent listens there), so
// the next one is taken; likewise after that of NCCL_COMM_ID. Under Slurm both follow from the step. CLEAVE_COMM_PORT
// gives another port.
#ifndef CLEAVE_RUNTIME_COMM_LAUNCHER_H
#define CLEAVE_RUNTIME_COMM_LAUNCHER_H

#include "runtime/base/Status.h"

#include <cstdint>

namespace cleave::rt {

enum class Launcher { None, Mpi, Tcp };

Launcher launcher();
inline bool startedAsOneOfSeveral() { return launcher() != Launcher::None; }

// One of several processes that meet by TCP.
struct TcpPlace {
  int rank = 0, size = 0;
  std::string host; // of rank 0
  uint16_t port = 0;
  uint64_t run = 0;       // the same in all processes of one start, where the launcher gives it a name
  std::string variables;  // that say so: "RANK=1, WORLD_SIZE=4"
  std::string portSource; // "MASTER_PORT"
};

// What the launcher says where it is Launcher::Tcp; an error names the variable that is missing or wrong.
Status readTcpPlace(TcpPlace *place);

// The number of this process among those of its machine; `rank` where nobody says.
int placeOnMachine(int rank);

} // namespace cleave::rt

#endif
