#include "runtime/plan/FeedMemory.h"

#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/PlanReader.h"

#include <algorithm>

namespace cleave::rt {

uint64_t feedBytes(const fb::Plan &kind, const fb::Program &program) {
  if (textOf(kind.target()).substr(0, 4) == "host")
    return 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < lengthOf(program.inputs()); ++i) {
    const fb::Port &port = *program.inputs()->Get(i);
    uint64_t ofPort = dtypeSize(port.dtype());
    for (size_t d = 0; d < lengthOf(port.shape()); ++d)
      ofPort *= static_cast<uint64_t>(port.shape()->Get(d));
    bytes += port.absent() ? 0 : bytesOfPlace(ofPort);
  }
  return kBatchesInMemory * std::max(1u, kind.micro_batches()) * bytes;
}

} // namespace cleave::rt
