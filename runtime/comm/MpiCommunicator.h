// Ranks as processes started by mpirun, or by srun with MPI (Launcher.h). MPI is in a module of its own that is opened only then, so that the
// same executable runs where no MPI is installed.
//
// The module is libcleave_comm_mpi.so: at CLEAVE_MPI_MODULE, or beside the executable, in ../lib of it, or where the
// dynamic linker looks.
#ifndef CLEAVE_RUNTIME_COMM_MPICOMMUNICATOR_H
#define CLEAVE_RUNTIME_COMM_MPICOMMUNICATOR_H

#include "runtime/comm/Communicator.h"

#include <memory>

namespace cleave::rt {

// Opens the module and joins the world, which is possible again after the result has left it, when destroyed.
Status createMpiCommunicator(std::unique_ptr<Communicator> *result);

} // namespace cleave::rt

#endif
