#include "runtime/session/ProgramBatch.h"

#include <algorithm>

namespace cleave::rt {

Status programBatch(const fb::Program &program, uint64_t *batch) {
  const fb::Port *first = nullptr;
  for (const auto *ports : {program.inputs(), program.outputs()})
    for (size_t i = 0; i < lengthOf(ports); ++i) {
      const fb::Port *port = ports->Get(i);
      if (port->batch_dim() != 0 || lengthOf(port->shape()) == 0)
        continue;
      if (first && port->shape()->Get(0) != first->shape()->Get(0))
        return internal("'" + first->name()->str() + "' has " + std::to_string(first->shape()->Get(0)) +
                        " samples and '" + port->name()->str() + "' " + std::to_string(port->shape()->Get(0)));
      first = port;
    }
  *batch = first ? static_cast<uint64_t>(std::max<int64_t>(1, first->shape()->Get(0))) : 1;
  return Status::ok();
}

} // namespace cleave::rt
