#include "runtime/api/ProgramInputs.h"

namespace cleave::rt {

void ProgramInputs::set(Session &session, const std::string &program, const GlobalTensor &tensor,
                        const std::byte *data) {
  restore(session, program);
  Input &input = given[program].try_emplace(tensor.port().name()->str(), Input{tensor, {}}).first->second;
  if (findProgram(session.plan(), "train_step") && findProgram(session.plan(), "evaluate"))
    input.data.assign(data, data + tensor.bytes());
  tensor.scatter(session, data);
}

void ProgramInputs::restore(Session &session, const std::string &program) {
  if (holder == program)
    return;
  holder = program;
  for (auto &[name, input] : given[program])
    if (!input.data.empty())
      input.tensor.scatter(session, input.data.data());
}

} // namespace cleave::rt
