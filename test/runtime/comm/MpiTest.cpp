// The conformance suite on processes. CTest starts this program with mpirun.
#include "runtime/comm/Launcher.h"
#include "runtime/comm/MpiCommunicator.h"
#include "test/runtime/comm/CommunicatorConformance.h"

#include "runtime/base/Log.h"
#include "runtime/comm/mpi/MpiApi.h"

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

using namespace cleave::rt;

static int runChecks(Communicator &comm) {
  int failures = 0;
  for (const auto &check : test::conformanceChecks(comm.size())) {
    std::string error = check.run(comm);
    if (!error.empty()) {
      std::printf("rank %d: %s: %s\n", comm.rank(), check.name.c_str(), error.c_str());
      ++failures;
    }
  }
  if (comm.rank() == 0)
    std::printf("%d ranks over %s: %d failures\n", comm.size(), comm.transport(), failures);
  return failures == 0 ? 0 : 1;
}

// Joins the world, and then lives, but takes part in nothing.
static int beSilent() {
  void *module = ::dlopen(envString("CLEAVE_MPI_MODULE").c_str(), RTLD_NOW | RTLD_GLOBAL);
  auto entry = module ? reinterpret_cast<const cleave_mpi_api *(*)()>(::dlsym(module, "cleave_mpi")) : nullptr;
  int rank = 0, size = 0;
  char error[256] = "";
  if (!entry || entry()->join(30, 0, &rank, &size, error, sizeof(error)) != 0)
    return 1;
  ::sleep(40);
  return 1;
}

// With the argument "silent", rank 1 is silent when the others start.
int main(int argc, char **argv) {
  if (launcher() != Launcher::Mpi) {
    std::printf("not started by mpirun\n");
    return 1;
  }
  if (argc > 1 && std::strcmp(argv[1], "silent") == 0 && envString("OMPI_COMM_WORLD_RANK") == "1")
    return beSilent();
  std::unique_ptr<Communicator> comm;
  if (Status status = createMpiCommunicator(&comm); !status.isOk()) {
    std::printf("%s\n", status.message().c_str());
    return 1;
  }
  return runChecks(*comm);
}
