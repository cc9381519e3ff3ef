#include "runtime/session/SameRun.h"

#include "runtime/base/Hash.h"
#include "runtime/comm/Communicator.h"
#include "runtime/plan/Seals.h"

namespace cleave::rt {

void SameRun::add(std::string what, std::string_view text) {
  what_.push_back(std::move(what));
  hashes_.push_back(fnv1a(text));
}

Status SameRun::check(Session &session) const {
  return session.agreeWithLeader(hashes_, [&](size_t place, uint64_t) {
    return invalidArgument(what_[place] + ": process " + std::to_string(session.processes()->rank()) +
                           " was given another value than the first one; all processes need the same options");
  });
}

Status checkSameProgram(Session &session, const cleave_model &model, const std::string &command) {
  uint64_t program = fnv1a({static_cast<const char *>(model.plan), model.plan_size});
  program = fnv1a(
      {reinterpret_cast<const char *>(model.kernel_facts), (model.kernel_count + kSeals) * sizeof(uint64_t)}, program);
  return session.agreeWithLeader({program, fnv1a(command)}, [&](size_t place, uint64_t) {
    std::string who = "process " + std::to_string(session.processes()->rank());
    return invalidArgument(
        place == 0 ? who + " runs another compiled program than the first one; start the same file in all processes, "
                           "and copy it to every machine after each `cleave compile`"
                   : who + " was started with another command than the first one; all processes need the same");
  });
}

} // namespace cleave::rt
