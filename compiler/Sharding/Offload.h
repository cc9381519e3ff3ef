// Which values are stored in host memory, and come to the device only while they are used (`--offload`).
//
//   params       parameters           copied in where a program uses them, out where the update writes them
//   grads        gradients            copied out when they are reduced or accumulated
//   optimizer    optimizer state      (momentum, moments, fp32 masters) copied in and out by the update
//   activations  residuals            copied out after their last use in the forward pass
//
// The place is a part of how a value is *stored*, beside its sharding: a copy is the difference of where a value is
// stored and where it is used, as a gather is the difference of stored split and used whole. What is both comes to the
// device as a shard and is gathered there.
#ifndef CLEAVE_COMPILER_SHARDING_OFFLOAD_H
#define CLEAVE_COMPILER_SHARDING_OFFLOAD_H

#include "dialects/Cleave/IR/Cleave.h"

#include "llvm/Support/Error.h"

namespace cleave {

struct Offload {
  bool params = false, grads = false, optimizer = false, activations = false;

  explicit operator bool() const { return params || grads || optimizer || activations; }
  // Whether states of a role are stored in host memory.
  bool covers(Role role) const;
};

// "params,grads,optimizer,activations", each at most once; empty: nothing.
llvm::Expected<Offload> parseOffload(llvm::StringRef text);

} // namespace cleave

#endif
