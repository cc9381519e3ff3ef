#include "runtime/session/SameRun.h"

#include "runtime/base/Hash.h"
#include "runtime/comm/Communicator.h"
#include "runtime/train/data/DataSpec.h"

namespace cleave::rt {
namespace {

// A text that cannot be read stands for itself; whoever opens the data says what is wrong with it.
std::string withoutFiles(const std::string &text) {
  DataSpec spec;
  if (!parseDataSpec(text, &spec).isOk())
    return text;
  std::string rest = spec.input + "\n" + spec.key + "\n";
  rest += spec.stream ? std::to_string(static_cast<int>(*spec.stream)) : "";
  for (uint64_t number : {spec.window, spec.shift, spec.stride})
    rest += "\n" + std::to_string(number);
  for (const std::vector<double> *list : {&spec.mean, &spec.std}) {
    rest += "\n";
    for (double value : *list)
      rest += realText(value) + " ";
  }
  return rest;
}

} // namespace

void SameRun::add(std::string what, std::string_view text) {
  what_.push_back(std::move(what));
  hashes_.push_back(fnv1a(text));
}

void SameRun::addData(std::string what, const std::vector<std::string> &specs) {
  std::string all;
  for (const std::string &spec : specs)
    all += withoutFiles(spec) + "\n\n";
  add(std::move(what), all);
}

Status SameRun::check(Session &session) const {
  return session.agreeWithLeader(hashes_, [&](size_t place, uint64_t) {
    return invalidArgument(what_[place] + ": process " + std::to_string(session.processes()->rank()) +
                           " was not given what the first one was; all processes need the same options");
  });
}

Status checkSameProgram(Session &session, const cleave_model &model, const std::string &command) {
  uint64_t program = fnv1a({static_cast<const char *>(model.plan), model.plan_size});
  program =
      fnv1a({reinterpret_cast<const char *>(model.kernel_facts), (model.kernel_count + 1) * sizeof(uint64_t)}, program);
  return session.agreeWithLeader({program, fnv1a(command)}, [&](size_t place, uint64_t) {
    std::string who = "process " + std::to_string(session.processes()->rank());
    return invalidArgument(
        place == 0 ? who + " runs another compiled program than the first one; start the same file in all processes, "
                           "and copy it to every machine after each `cleave compile`"
                   : who + " was started with another command than the first one; all processes need the same");
  });
}

} // namespace cleave::rt
