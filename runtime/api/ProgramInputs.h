// Inputs of the C API stay until they are set again. A plan may keep the inputs of two programs (train_step and
// evaluate) at the same place, since the command line fills them before every run; so what was given is kept here, and
// put back when the other program has had the place.
//
// An input that nobody has set has no value. The memory holds zeros then, or what another program was given, and a
// result of either would be taken for one of the model. So it is an error, except where no result depends on it
// (OutputNeeds.h): a model's logits need no labels.
#ifndef CLEAVE_RUNTIME_API_PROGRAMINPUTS_H
#define CLEAVE_RUNTIME_API_PROGRAMINPUTS_H

#include "runtime/session/GlobalTensor.h"

#include <map>
#include <string>
#include <vector>

namespace cleave::rt {

class ProgramInputs {
public:
  // The caller has found `tensor` among the program's inputs.
  void set(Session &session, const std::string &program, const GlobalTensor &tensor, const std::byte *data);
  // Before the program runs: its inputs are there.
  void restore(Session &session, const std::string &program);

  // Whether a program may run that needs all its inputs.
  Status checkAll(const fb::Program &program) const;
  // Whether one may run of whose outputs a caller may want some: at least one depends on set inputs alone.
  Status checkSome(const fb::Plan &plan, const fb::Program &program) const;
  // The program has run on the inputs that are set now.
  void noteRun(const fb::Program &program);
  // Whether the last run of the program has left this output.
  Status checkOutput(const fb::Plan &plan, const fb::Program &program, const fb::Port &output) const;

private:
  using Ports = std::vector<const fb::Port *>;
  struct Input {
    GlobalTensor tensor;
    std::vector<std::byte> data; // of the global batch
  };

  Ports unset(const fb::Program &program) const;

  std::map<std::string, std::map<std::string, Input, std::less<>>> given; // by program and name
  std::string holder;                      // the program whose inputs the memory has
  std::map<std::string, Ports> ranWithout; // of programs that have run: the inputs not set then
};

} // namespace cleave::rt

#endif
