// The conformance suite on processes. CTest starts this program with mpirun.
#include "runtime/comm/Launcher.h"
#include "runtime/comm/MpiCommunicator.h"
#include "test/runtime/comm/CommunicatorConformance.h"

#include <cstdio>

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

int main() {
  if (launcher() != Launcher::Mpi) {
    std::printf("not started by mpirun\n");
    return 1;
  }
  std::unique_ptr<Communicator> comm;
  if (Status status = createMpiCommunicator(&comm); !status.isOk()) {
    std::printf("%s\n", status.message().c_str());
    return 1;
  }
  return runChecks(*comm);
}
