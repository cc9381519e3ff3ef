// How this process was started: alone, or as one of several, by what launchers leave in the environment. No other file
// reads these variables.
//
//   mpirun, srun --mpi=pmix   OMPI_COMM_WORLD_SIZE, PMI_SIZE, PMIX_RANK, ...        ranks meet by MPI (MpiCommunicator.h)
//   torchrun, scripts         RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT            GPUs meet by NCCL, hosts do not
//   srun                      SLURM_PROCID, SLURM_STEP_NUM_TASKS                    likewise
//
// Launchers start each other, and variables are inherited. mpirun is then the inner one; torchrun is inside srun. MPI's
// variables win over Slurm's own numbers; whether it is installed is not asked. A launcher of which a variable is
// missing is one all the same: a process that took itself for alone would train the whole model beside the others.
#ifndef CLEAVE_RUNTIME_COMM_LAUNCHER_H
#define CLEAVE_RUNTIME_COMM_LAUNCHER_H

#include "runtime/base/Status.h"

#include <string>

namespace cleave::rt {

enum class Launcher { None, Mpi, Torchrun, Slurm };

Launcher launcher();
inline bool startedAsOneOfSeveral() { return launcher() != Launcher::None; }

// One of several processes, as Torchrun or Slurm says.
struct ProcessPlace {
  int rank = 0, size = 0;
  std::string variables; // that say so: "RANK=1, WORLD_SIZE=4"
  std::string unset;     // what is to be unset where a process is to run alone: "RANK and WORLD_SIZE"
};

// An error names the variable that is missing or wrong.
Status readProcessPlace(ProcessPlace *place);

// Where NCCL of rank 0 listens for the others: NCCL_COMM_ID; or, where that is not set, made of
//
//   the machine   MASTER_ADDR; under Slurm, the step's first machine where that is not set
//   the port      CLEAVE_COMM_PORT; or the one after MASTER_PORT, which torchrun's agent holds; or that of the Slurm
//   step
struct MeetingPoint {
  std::string address; // "node0:29501", "[::1]:29501"
  std::string source;  // "MASTER_ADDR and the port after MASTER_PORT"
};

Status readMeetingPoint(const ProcessPlace &place, MeetingPoint *point);

// The number of this process among those of its machine; `rank` where nobody says.
int placeOnMachine(int rank);

} // namespace cleave::rt

#endif
