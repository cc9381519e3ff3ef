// Why a collective is there, for people: `cleave.reason`. partition writes it, and planning puts it into the plan.
//
//   tensor   which tensor moves: "@bucket3" (a state), "a value for @scalar.grad_norm" (it goes into this state), or
//            "node 'fc1' (Gemm)" (the result of a node)
//   made     how the ranks have it before: "split over fsdp", "a sum of its own on each rank of dp"
//   used     how it is needed, and by whom first: "whole on every rank, first by node 'fc1' (Gemm)"
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_REASON_H
#define CLEAVE_DIALECTS_CLEAVE_IR_REASON_H

#include "dialects/Cleave/IR/Cleave.h"

#include <string>

namespace cleave {

// Returns the tensor that the value is, as above. The value may be any form of the tensor: a part, or of another type.
// If nothing is known, it is "a value of @update".
std::string tensorNameOf(mlir::Value value);

// Returns "whole on every rank", or how the ranks share the value.
std::string describeSharding(ShardingAttr sharding);

// Returns the reason of the collectives that turn `made` into `used` for this use of a value.
mlir::DictionaryAttr reasonOf(mlir::OpOperand &use, ShardingAttr made, ShardingAttr used);

mlir::DictionaryAttr makeReason(mlir::MLIRContext *context, llvm::StringRef tensor, llvm::StringRef made,
                                llvm::StringRef used);

// Returns the reason of one collective for several tensors: that of the first, "and 3 more".
mlir::DictionaryAttr joinReasons(llvm::ArrayRef<mlir::DictionaryAttr> reasons);

} // namespace cleave

#endif
