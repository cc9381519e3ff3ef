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

// For main() of a compiled program: if MPI's own start or end takes longer than CLEAVE_COMM_TIMEOUT_S (and 10 s), the
// process ends. A library never ends the process of its host, and its host may work for long before and after.
void endProcessIfMpiHangs();

// Opens the module and joins the world. When the result is destroyed, it leaves the world, and another one can be made.
Status createMpiCommunicator(std::unique_ptr<Communicator> *result);

} // namespace cleave::rt

#endif
