#include "runtime/plan/Tokens.h"

#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/PlanReader.h"

namespace cleave::rt {

namespace {

// The shape of one sample.
std::vector<int64_t> sampleShape(const fb::Port &port) {
  std::vector<int64_t> shape(port.shape()->begin(), port.shape()->end());
  shape.erase(shape.begin() + port.batch_dim());
  return shape;
}

int64_t countOf(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

} // namespace

uint64_t tokensPerSample(const fb::Program &program) {
  int64_t length = 0;
  bool hasSequence = false;
  for (size_t i = 0; i < lengthOf(program.inputs()); ++i) {
    const fb::Port &port = *program.inputs()->Get(static_cast<uint32_t>(i));
    if (port.batch_dim() < 0 || port.dtype() == fb::DType::boolean)
      continue; // it is the same for all samples, or a mask
    std::vector<int64_t> shape = sampleShape(port);
    if (countOf(shape) <= 1)
      continue; // a label or a weight
    if (isFloating(port.dtype()) || (length != 0 && shape[0] != length))
      return 0;
    length = shape[0];
    hasSequence |= shape.size() == 1;
  }
  return hasSequence ? static_cast<uint64_t>(length) : 0;
}

} // namespace cleave::rt
