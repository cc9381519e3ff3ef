// Which states and values are stored in host memory, and come to the device only while they are used (`--offload`).
//
//   params       parameters           copied in before a program uses them, out after the update writes them
//   grads        gradients            copied out when they are reduced or accumulated
//   optimizer    optimizer state      (momentum, moments, fp32 masters) copied in and out by the update
//   activations  residuals            copied out after their last use in the forward pass
//
// The memory is a property of how a value is *stored*, as its sharding is. A copy is the difference between the memory
// in which a value is stored and the one in which it is used, just as a gather is the difference between stored split
// and used whole. An offloaded split value comes to the device as a shard and is gathered there.
#ifndef CLEAVE_COMPILER_SHARDING_OFFLOAD_H
#define CLEAVE_COMPILER_SHARDING_OFFLOAD_H

#include "dialects/Cleave/IR/Cleave.h"

#include "llvm/Support/Error.h"

namespace cleave {

struct Offload {
  bool params = false, grads = false, optimizer = false, activations = false;

  explicit operator bool() const { return params || grads || optimizer || activations; }
  // True if states of this role are stored in host memory.
  bool covers(Role role) const;
};

// Parses "params,grads,optimizer,activations", each at most once. An empty text offloads nothing.
llvm::Expected<Offload> parseOffload(llvm::StringRef text);

} // namespace cleave

#endif
