// The element-wise step of a reduction: into[i] = from[i] (op) into[i]. 16-bit types are computed in f32 and then
// rounded.
#ifndef CLEAVE_RUNTIME_COMM_REDUCE_H
#define CLEAVE_RUNTIME_COMM_REDUCE_H

#include "runtime/base/Status.h"
#include "runtime/plan/PlanReader.h"

namespace cleave::rt {

Status reduceInto(fb::DType dtype, Reduction reduction, const std::byte *from, std::byte *into, size_t count);

} // namespace cleave::rt

#endif
