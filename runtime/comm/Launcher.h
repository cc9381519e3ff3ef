// How this process was started: alone, or as one of several. It is derived from variables that launchers set in the
// environment. No other file reads these variables.
//
//   mpirun, srun --mpi=pmix   OMPI_COMM_WORLD_SIZE, PMI_SIZE, PMIX_RANK, ...        ranks meet by MPI (MpiCommunicator.h)
//   torchrun, scripts         RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT            GPUs meet by NCCL, hosts do not
//   srun                      SLURM_PROCID, SLURM_STEP_NUM_TASKS                    likewise
//
// Launchers start each other, and their variables are inherited. If mpirun is among them, it is the inner one. torchrun
// is inside of srun. MPI's variables have precedence over Slurm's own numbers, whether or not MPI is installed. A
// launcher counts even if one of its variables is missing. Otherwise the process would believe that it is alone, and
// would train the whole model while the others do the same.
#ifndef CLEAVE_RUNTIME_COMM_LAUNCHER_H
#define CLEAVE_RUNTIME_COMM_LAUNCHER_H

#include "runtime/base/Status.h"

#include <string>

namespace cleave::rt {

enum class Launcher { None, Mpi, Torchrun, Slurm };

Launcher launcher();
inline bool startedAsOneOfSeveral() { return launcher() != Launcher::None; }

// The variables by which a process belongs to MPI, as far as they are set: "PMI_SIZE and PMIX_RANK".
std::string mpiVariables();

// The rank of this process among several, according to Torchrun or Slurm.
struct LauncherRank {
  int rank = 0, size = 0;
  std::string variables; // variables that say so: "RANK=1, WORLD_SIZE=4"
  std::string unset;     // variables that a process which runs alone must not have: "RANK and WORLD_SIZE"
};

// Fails with the name of the variable that is missing or wrong.
Status readLauncherRank(LauncherRank *launched);

// The address at which NCCL of rank 0 listens for the others: NCCL_COMM_ID. If it is not set, the address is made of
//
//   the machine   MASTER_ADDR; under Slurm, if that is not set, the first machine of the step
//   the port      CLEAVE_COMM_PORT; or the port after MASTER_PORT, which torchrun's agent uses; or a port computed from
//                 the Slurm step
struct MeetingPoint {
  std::string address; // "node0:29501", "[::1]:29501"
  std::string source;  // "MASTER_ADDR and the port after MASTER_PORT"
};

Status readMeetingPoint(const LauncherRank &launched, MeetingPoint *point);

// The rank of this process among those of its machine; `rank` if no launcher says it.
int localRank(int rank);

} // namespace cleave::rt

#endif
