// Inputs of the C API stay until they are set again. A plan may keep the inputs of two programs (train_step and
// evaluate) at the same place, since the command line fills them before every run; so what was given is kept here, and
// put back when the other program has had the place.
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

private:
  struct Input {
    GlobalTensor tensor;
    std::vector<std::byte> data; // of the global batch
  };

  std::map<std::string, std::map<std::string, Input>> given; // by program and name
  std::string holder;                                        // the program whose inputs the memory has
};

} // namespace cleave::rt

#endif
