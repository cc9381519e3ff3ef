// The conformance suite on processes: CTest starts this program by mpirun. With --lose-peer one rank dies without a
// word, and the launcher must end the others.
#include "runtime/comm/MpiCommunicator.h"
#include "test/runtime/comm/CommunicatorConformance.h"

#include <cstdio>
#include <cstring>
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

int main(int argc, char **argv) {
  if (!startedUnderMpi()) {
    std::printf("not started by mpirun\n");
    return 1;
  }
  std::unique_ptr<Communicator> comm;
  if (Status status = createMpiCommunicator(&comm); !status.isOk()) {
    std::printf("%s\n", status.message().c_str());
    return 1;
  }
  if (argc > 1 && std::strcmp(argv[1], "--lose-peer") == 0) {
    if (comm->rank() == 1)
      ::_exit(3);
    Status status = comm->barrier();
    std::printf("%s\n", status.message().c_str());
    return status.isOk() ? 0 : 1;
  }
  return runChecks(*comm);
}
