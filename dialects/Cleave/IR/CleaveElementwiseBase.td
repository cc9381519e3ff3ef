// Base classes of the ops whose result elements are computed from the operands' elements at the same index.
#ifndef CLEAVE_ELEMENTWISEBASE_TD
#define CLEAVE_ELEMENTWISEBASE_TD
include "dialects/Cleave/IR/CleaveOpBase.td"

// All loops are parallel, and all maps are the identity. `buildScalar` computes one element from the operands'
// elements. Its `elements` are signless integers, or floating-point numbers of the operands' own type, also if it is
// f16 or bf16.
class Cleave_ElementwiseOp<string mnemonic, list<Trait> traits = []>
    : Cleave_ComputeOp<mnemonic, !listconcat([Cleave_DefaultCost], traits)> {
  let extraClassDeclaration = [{
    ::mlir::Value buildScalar(::mlir::OpBuilder &builder, ::mlir::Location loc, ::mlir::ValueRange elements);
  }];
  let extraClassDefinition = [{
    ::llvm::SmallVector<::mlir::utils::IteratorType> $cppClass::getLoopIteratorTypes() {
      return ::cleave::elementwiseLoops(getOperation());
    }
    ::llvm::SmallVector<::mlir::AffineMap> $cppClass::getIndexingMaps() { return ::cleave::elementwiseMaps(getOperation()); }
    ::llvm::SmallVector<::mlir::shard::ReductionKind> $cppClass::getReductionLoopIteratorKinds() { return {}; }
    ::cleave::ComputeKind $cppClass::getComputeKind() { return ::cleave::ComputeKind::Fusible; }
    ::llvm::SmallVector<::mlir::Value> $cppClass::buildLinalg(::mlir::OpBuilder &builder, ::mlir::ValueRange operands) {
      return {::cleave::elementwiseLinalg(getOperation(), builder, operands,
        [&](::mlir::OpBuilder &b, ::mlir::Location loc, ::mlir::ValueRange elements) {
          return buildScalar(b, loc, elements);
        })};
    }
  }];
}

// `element` is the element type in the example.
class Cleave_UnaryOp<string mnemonic, string formula, Type type, list<Trait> traits = [], string element = "f32">
    : Cleave_ElementwiseOp<mnemonic, !listconcat([SameOperandsAndResultType], traits)> {
  let summary = "element-wise " # formula;
  let description = "The result at an index is computed from the operand at that index.\n```mlir\n%0 = cleave." # mnemonic #
                    " %x : tensor<8x4x" # element # ">\n```\nConstraints:\n- The operand and the result have the same shape and element type.";
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}
class Cleave_FloatUnaryOp<string mnemonic, string formula> : Cleave_UnaryOp<mnemonic, formula, Cleave_FloatTensor, [Cleave_Differentiable]>;
#endif
