// The interface of ops whose loops may be cut. Included by CutLoops.h, which few passes do.
#ifndef CLEAVE_CUTLOOPS_TD
#define CLEAVE_CUTLOOPS_TD
include "mlir/IR/OpBase.td"

def CutLoopsOpInterface : OpInterface<"CutLoopsOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{
    The op computes the same when its loops are cut and its tensors viewed accordingly. It has one result, and each dimension of its tensors is one of its
    loops. Ops that compute each element of those at the same index need no such word: `hasCutLoops` (CutLoops.h) knows them by their maps.
  }];
  let methods = [InterfaceMethod<[{Builds the op on `operands`, which come cut already, with a result of type `result`; loop i becomes `parts[i]` neighbouring
      loops, none where it has one element.}],
    "::mlir::Value", "withCutLoops", (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands, "::mlir::RankedTensorType":$result,
                                          "::llvm::ArrayRef<int64_t>":$parts)>];
}
#endif
