// A process that cannot start does not wait for others to leave: they may be gone, or wait for something else.
#include "runtime/comm/MpiCommunicator.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace cleave::rt;

namespace {

// Prints what two starts in one process say.
[[noreturn]] void startTwice(const char *failingCall) {
  ::setenv("CLEAVE_MPI_MODULE", FAILING_MPI_MODULE, 1);
  ::setenv("FAILING_CALL", failingCall, 1);
  for (int i = 0; i < 2; ++i) {
    std::unique_ptr<Communicator> comm;
    Status status = createMpiCommunicator(&comm);
    std::fprintf(stderr, "%s\n", status.message().c_str());
  }
  std::_Exit(0);
}

TEST(MpiStart, AFailureEndsAtOnce) {
  for (const char *call : {"join", "all_gather"})
    EXPECT_EXIT(startTwice(call), testing::ExitedWithCode(0), std::string(call) + " has failed\n.*restart all processes");
}

} // namespace
