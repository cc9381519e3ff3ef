// The checks that every transport must pass. Each check runs on all ranks at the same time, and returns an error text.
// LocalTest runs them on threads, MpiTest and NcclCommunicatorTest on processes.
#ifndef CLEAVE_TEST_RUNTIME_COMM_COMMUNICATORCONFORMANCE_H
#define CLEAVE_TEST_RUNTIME_COMM_COMMUNICATORCONFORMANCE_H

#include "runtime/comm/Communicator.h"

#include <functional>
#include <string>
#include <vector>

namespace cleave::rt::test {

struct ConformanceCheck {
  std::string name;
  std::function<std::string(Communicator &)> run; // returns an empty text if all is well
};

// The checks that are possible with this number of ranks.
std::vector<ConformanceCheck> conformanceChecks(int ranks);

} // namespace cleave::rt::test

#endif
