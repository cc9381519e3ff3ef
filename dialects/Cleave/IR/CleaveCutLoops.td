// The interface of ops whose loops may be cut. Its C++ is in CutLoops.h, which few passes include.
#ifndef CLEAVE_CUTLOOPS_TD
#define CLEAVE_CUTLOOPS_TD
include "mlir/IR/OpBase.td"

def CutLoopsOpInterface : OpInterface<"CutLoopsOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{
    The op computes the same if its loops are cut and its tensors are viewed in the shapes that follow. It has one result, and
    each dimension of its tensors is one of its loops. Ops that compute each element from the operands' elements at the same
    index do not need the interface: `hasCutLoops` (CutLoops.h) recognizes them by their indexing maps.
  }];
  let methods = [InterfaceMethod<[{Builds the op on `operands`, which already have cut shapes, with a result of type `result`.
      Loop i becomes `parts[i]` neighbouring loops. A loop of one element may become none.}],
    "::mlir::Value", "withCutLoops", (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands, "::mlir::RankedTensorType":$result,
                                          "::llvm::ArrayRef<int64_t>":$parts)>];
}
#endif
