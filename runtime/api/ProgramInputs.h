// The inputs of the C API keep their values until they are set again. A plan may keep the inputs of two programs
// (train_step and evaluate) in the same memory, because the command line fills them before every run. So the values are
// kept here, and written again when the other program has used the memory.
//
// An input that nobody has set has no value. Its memory then holds zeros or the input of another program, and a result
// computed from these would look like a result of the model. So running a program with such an input is an error,
// unless no result depends on it (OutputNeeds.h). For example, a model's logits need no labels.
#ifndef CLEAVE_RUNTIME_API_PROGRAMINPUTS_H
#define CLEAVE_RUNTIME_API_PROGRAMINPUTS_H

#include "runtime/session/GlobalTensor.h"
#include "runtime/state/ElementValue.h"

#include <map>
#include <string>
#include <vector>

namespace cleave::rt {

class ProgramInputs {
public:
  // `tensor` must be one of the program's inputs.
  void set(Session &session, const std::string &program, const GlobalTensor &tensor, const std::byte *data);
  // Writes the program's inputs into its memory, if another program has used that memory. To be called before the
  // program runs.
  void restore(Session &session, const std::string &program);

  // Fails if an input of the program is not set.
  Status checkAll(const fb::Program &program) const;
  // Fails if every output depends on an input that is not set. For programs of which a caller may want only some
  // outputs.
  Status checkSome(const fb::Plan &plan, const fb::Program &program) const;
  // For example "input 'x' holds a value that is not a number, at element 7". Looks at the values that are kept here: none
  // are kept if the plan has no two programs that share the memory of inputs.
  NonFiniteValue findNonFinite(const fb::Program &program) const;
  // To be called after each run of the program. Notes which inputs were not set in this run.
  void noteRun(const fb::Program &program);
  // Fails if the program has not run, or if the output depends on an input that was not set in its last run.
  Status checkOutput(const fb::Plan &plan, const fb::Program &program, const fb::Port &output) const;

private:
  using Ports = std::vector<const fb::Port *>;
  struct Input {
    GlobalTensor tensor;
    std::vector<std::byte> data; // of the global batch
  };

  Ports unset(const fb::Program &program) const;

  std::map<std::string, std::map<std::string, Input, std::less<>>> given; // by names of program and input
  std::string holder;                                                     // the program whose inputs are in the memory
  std::map<std::string, Ports> ranWithout; // for each program: the inputs that were not set in its last run
};

} // namespace cleave::rt

#endif
