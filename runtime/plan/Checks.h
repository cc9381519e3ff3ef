// The parts of openPlan(): each trusts those before it. Private to this folder.
#ifndef CLEAVE_RUNTIME_PLAN_CHECKS_H
#define CLEAVE_RUNTIME_PLAN_CHECKS_H

#include "runtime/plan/PlanReader.h"

#include <string>

namespace cleave::rt {

Status checkVectors(const fb::Plan &plan);    // what of alignment FlatBuffers leaves open
Status checkNames(const fb::Plan &plan);      // each is there once in its table
Status checkProperties(const fb::Plan &plan); // their keys are those of Properties.def
Status checkMesh(const fb::Plan &plan);       // axes, groups, streams, regions, events
Status checkStates(const fb::Plan &plan);     // states and their segments
Status checkKernels(const fb::Plan &plan);    // kernel names, parameters, operands
Status checkPrograms(const fb::Plan &plan);   // ports, instructions, calls

// All messages of a damaged plan read alike.
inline Status badPlan(std::string what) { return dataLoss("the plan is damaged: " + std::move(what)); }

// offset + bytes <= size, without overflow.
inline bool fits(uint64_t offset, uint64_t bytes, uint64_t size) { return offset <= size && bytes <= size - offset; }

// Multiplies into `*product`; false on overflow.
inline bool multiply(uint64_t *product, uint64_t factor) { return !__builtin_mul_overflow(*product, factor, product); }

// Product of a shape; false when a dimension is negative or it overflows.
bool shapeElements(const flatbuffers::Vector<int64_t> *shape, uint64_t *elements);
// Axis indices exist and appear once.
Status checkAxes(const fb::Plan &plan, const flatbuffers::Vector<uint32_t> *axes, const std::string &where);

} // namespace cleave::rt

#endif
