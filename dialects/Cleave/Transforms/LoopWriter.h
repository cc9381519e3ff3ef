// Plain loops over flat tensors. The reference bodies are written with them.
//
//   LoopWriter nest(builder);
//   Value y = nest.loop({rows, columns}, zeros, [&](ValueRange i, ValueRange carried) {
//     Value index = nest.linear({i[0], i[1]}, {rows, columns});
//     return nest.addAt(carried[0], index, nest.load(x, index));
//   });
//
// Tensors are flattened to one dimension first, so that a body is written from sizes alone, like a kernel in C. Numbers
// narrower than f32 are loaded as f32. linalg.generic was rejected, because it cannot say "scatter", "first maximum",
// or "skip the padding" without tricks that an oracle should not need.
#ifndef CLEAVE_DIALECTS_CLEAVE_TRANSFORMS_LOOPWRITER_H
#define CLEAVE_DIALECTS_CLEAVE_TRANSFORMS_LOOPWRITER_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/ValueRange.h"

namespace cleave {

class LoopWriter {
public:
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange ivs, mlir::ValueRange carried)>;

  explicit LoopWriter(mlir::ImplicitLocOpBuilder &builder) : builder(builder) {}

  mlir::ImplicitLocOpBuilder &getBuilder() { return builder; }

  // for i0 < sizes[0], i1 < sizes[1], ...: carried = body(i, carried). Returns the last carried values.
  llvm::SmallVector<mlir::Value> loop(llvm::ArrayRef<int64_t> sizes, mlir::ValueRange initial, Body body);
  // carried = condition ? then() : carried
  llvm::SmallVector<mlir::Value> onlyIf(mlir::Value condition, mlir::ValueRange carried,
                                        llvm::function_ref<llvm::SmallVector<mlir::Value>()> then);

  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b) { return add(a, constant(b)); }
  mlir::Value scale(mlir::Value a, int64_t factor);
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value isTrue();
  // 0 <= index < size
  mlir::Value inRange(mlir::Value index, int64_t size);
  // Returns the row-major position of `indices` in `sizes`.
  mlir::Value linear(llvm::ArrayRef<mlir::Value> indices, llvm::ArrayRef<int64_t> sizes);

  // Returns the type in which numbers of `element` are computed.
  static mlir::Type wide(mlir::Type element);
  mlir::Value number(mlir::Type type, double value);
  mlir::Value flatten(mlir::Value tensor);
  // Returns a flat tensor of `count` copies of `value`.
  mlir::Value filled(int64_t count, mlir::Value value);
  // Rounds a flat tensor to the element type of `type`, and reshapes it to that type.
  mlir::Value finish(mlir::Value flat, mlir::RankedTensorType type);
  mlir::Value load(mlir::Value flat, mlir::Value index);
  mlir::Value store(mlir::Value value, mlir::Value flat, mlir::Value index);
  mlir::Value plus(mlir::Value a, mlir::Value b);
  mlir::Value times(mlir::Value a, mlir::Value b);
  mlir::Value greater(mlir::Value a, mlir::Value b);
  mlir::Value larger(mlir::Value a, mlir::Value b); // NaN wins
  // Returns `flat` with `value` added at `index`.
  mlir::Value addAt(mlir::Value flat, mlir::Value index, mlir::Value value);

private:
  mlir::ImplicitLocOpBuilder &builder;
};

} // namespace cleave

#endif
