#include "runtime/plan/Checks.h"

#include <type_traits>

namespace cleave::rt {

namespace {

// FlatBuffers' verifier checks that the length of a vector is aligned, and that the vector is inside the bytes. The
// length has 4 bytes, so elements of 8 bytes after it may still be at any multiple of 4.
template <typename T> bool isAligned(const flatbuffers::Vector<T> *vector) {
  using Element = std::remove_pointer_t<T>; // vectors of structs return pointers
  return !vector || reinterpret_cast<uintptr_t>(vector->Data()) % alignof(Element) == 0;
}

template <typename Table, typename Test>
bool all(const flatbuffers::Vector<flatbuffers::Offset<Table>> *tables, Test test) {
  for (size_t i = 0; i < lengthOf(tables); ++i)
    if (!test(*tables->Get(static_cast<unsigned>(i))))
      return false;
  return true;
}

} // namespace

Status checkVectors(const fb::Plan &plan) {
  auto segment = [](const fb::Segment &s) { return isAligned(s.shape()); };
  auto port = [](const fb::Port &p) { return isAligned(p.shape()); };
  auto instruction = [](const fb::Instruction &i) { return isAligned(i.buffers()) && isAligned(i.fields()); };
  bool areAligned = all(plan.states(), [&](const fb::State &s) { return all(s.segments(), segment); }) &&
                    all(plan.kernels(),
                        [](const fb::Kernel &k) {
                          return isAligned(k.params()) && isAligned(k.depends()) && isAligned(k.operands());
                        }) &&
                    all(plan.programs(), [&](const fb::Program &p) {
                      return all(p.inputs(), port) && all(p.outputs(), port) && all(p.instructions(), instruction);
                    });
  areAligned = areAligned && isAligned(plan.events()) && all(plan.groups(), [](const fb::Group &g) {
                 return all(g.only(), [](const fb::AxisPlaces &p) { return isAligned(p.coordinates()); });
               });
  return areAligned ? Status::ok() : badPlan("elements of a vector are not aligned to their type");
}

} // namespace cleave::rt
