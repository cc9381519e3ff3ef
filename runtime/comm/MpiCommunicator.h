// Ranks as processes started by mpirun or srun. MPI is in a module of its own that is opened only then, so that the
// same executable runs where no MPI is installed.
//
// The module is libcleave_comm_mpi.so: at CLEAVE_MPI_MODULE, or beside the executable, in ../lib of it, or where the
// dynamic linker looks.
#ifndef CLEAVE_RUNTIME_COMM_MPICOMMUNICATOR_H
#define CLEAVE_RUNTIME_COMM_MPICOMMUNICATOR_H

#include "runtime/comm/Communicator.h"

#include <memory>
#include <string>

namespace cleave::rt {

// Whether this process was started as one of several by mpirun or srun.
bool startedUnderMpi();
// What says that torchrun or another launcher of PyTorch has started this process as one of several, as in "RANK=1,
// WORLD_SIZE=4"; empty: none has. Such processes do not know each other here.
std::string startedByTorchrun();
// Opens the module and joins the world, which is possible again after the result has left it, when destroyed.
Status createMpiCommunicator(std::unique_ptr<Communicator> *result);

} // namespace cleave::rt

#endif
