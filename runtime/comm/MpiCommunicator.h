// Ranks as processes that mpirun has started, or srun with MPI (Launcher.h). MPI is in a separate module, which is
// opened only then. So the same executable runs where MPI is not installed.
//
// The module is libcleave_comm_mpi.so. If CLEAVE_MPI_MODULE is set, it names the file. Otherwise the module is looked
// for next to the executable, in ../lib of its folder, and where the dynamic linker looks.
#ifndef CLEAVE_RUNTIME_COMM_MPICOMMUNICATOR_H
#define CLEAVE_RUNTIME_COMM_MPICOMMUNICATOR_H

#include "runtime/comm/Communicator.h"

#include <memory>

namespace cleave::rt {

// Opens the module and joins the world. When the result is destroyed, it leaves the world, and another one can be made.
Status createMpiCommunicator(std::unique_ptr<Communicator> *result);

} // namespace cleave::rt

#endif
