// The parts of openPlan(). Each part relies on those that ran before it. Only files of this folder include this header.
#ifndef CLEAVE_RUNTIME_PLAN_CHECKS_H
#define CLEAVE_RUNTIME_PLAN_CHECKS_H

#include "runtime/plan/PlanReader.h"

#include <string>

namespace cleave::rt {

Status checkVectors(const fb::Plan &plan);    // alignments that FlatBuffers does not check
Status checkNames(const fb::Plan &plan);      // names are unique in each table
Status checkProperties(const fb::Plan &plan); // all keys are declared in Properties.def
Status checkMesh(const fb::Plan &plan);       // axes, groups, streams, regions, events
Status checkStates(const fb::Plan &plan);     // states and their segments
Status checkKernels(const fb::Plan &plan);    // kernel names, parameters, operands
Status checkPrograms(const fb::Plan &plan);   // ports, instructions, calls
Status checkSavedNames(const fb::Plan &plan); // of all kinds: a checkpoint tells all saved tensors apart

// Every message about a damaged plan begins in the same way.
inline Status badPlan(std::string what) { return dataLoss("the plan is damaged: " + std::move(what)); }

// True if offset + bytes <= size. The sum is never computed, so it cannot overflow.
inline bool fits(uint64_t offset, uint64_t bytes, uint64_t size) { return offset <= size && bytes <= size - offset; }

// Multiplies `*product` by `factor`. Returns false on overflow.
inline bool multiply(uint64_t *product, uint64_t factor) { return !__builtin_mul_overflow(*product, factor, product); }

// Computes the product of a shape. Returns false if a dimension is negative or the product overflows.
bool shapeElements(const flatbuffers::Vector<int64_t> *shape, uint64_t *elements);
// Checks that each index names an axis, and that no axis is named twice.
Status checkAxes(const fb::Plan &plan, const flatbuffers::Vector<uint32_t> *axes, const std::string &where);

} // namespace cleave::rt

#endif
