// What every transport must do, once: each check runs on one rank, at the same time as on all others, and returns an
// error text. LocalTest runs it on threads, MpiTest and NcclCommunicatorTest on processes.
#ifndef CLEAVE_TEST_RUNTIME_COMM_COMMUNICATORCONFORMANCE_H
#define CLEAVE_TEST_RUNTIME_COMM_COMMUNICATORCONFORMANCE_H

#include "runtime/comm/Communicator.h"

#include <functional>
#include <string>
#include <vector>

namespace cleave::rt::test {

struct ConformanceCheck {
  std::string name;
  std::function<std::string(Communicator &)> run; // empty when all is well
};

// The checks that make sense for that many ranks.
std::vector<ConformanceCheck> conformanceChecks(int ranks);

} // namespace cleave::rt::test

#endif
