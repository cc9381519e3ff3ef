#include "runtime/train/SameRun.h"

#include "runtime/base/Hash.h"
#include "runtime/comm/Communicator.h"
#include "runtime/train/DataSpec.h"

#include <charconv>

namespace cleave::rt {
namespace {

std::string shortest(double value) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

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
      rest += shortest(value) + " ";
  }
  return rest;
}

Status other(const std::string &what, int rank) {
  return invalidArgument(what + ": process " + std::to_string(rank) +
                         " was not given what the first one was; all processes need the same options");
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
  Communicator *processes = session.processes();
  if (!processes)
    return Status::ok();
  std::vector<uint64_t> leaders = hashes_;
  CLEAVE_TRY(processes->broadcast(leaders.data(), leaders.size() * sizeof leaders[0], 0));
  Status same;
  for (size_t i = 0; i < what_.size() && same.isOk(); ++i)
    if (hashes_[i] != leaders[i])
      same = other(what_[i], processes->rank());
  return session.agree(std::move(same), "go on");
}

Status checkSameProgram(Session &session, const cleave_model &model, const std::string &command) {
  Communicator *processes = session.processes();
  if (!processes)
    return Status::ok();
  uint64_t program = fnv1a({static_cast<const char *>(model.plan), model.plan_size});
  program =
      fnv1a({reinterpret_cast<const char *>(model.kernel_facts), (model.kernel_count + 1) * sizeof(uint64_t)}, program);
  uint64_t mine[] = {program, fnv1a(command)}, leaders[] = {mine[0], mine[1]};
  CLEAVE_TRY(processes->broadcast(leaders, sizeof leaders, 0));
  Status same;
  if (mine[0] != leaders[0])
    same = invalidArgument("process " + std::to_string(processes->rank()) +
                           " runs another compiled program than the first one; start the same file in all processes, "
                           "and copy it to every machine after each `cleave compile`");
  else if (mine[1] != leaders[1])
    same = invalidArgument("process " + std::to_string(processes->rank()) +
                           " was started with another command than the first one; all processes need the same");
  return session.agree(std::move(same), "go on");
}

} // namespace cleave::rt
