// How many inputs and outputs a weight connects: what Kaiming's and Xavier's initial values are scaled by.
//
// PyTorch takes them from the shape, [out, in, receptive field...]. ONNX files hold the same weights in other orders,
// so the use decides:
//
//   Gemm(x, w, transB=1), MatMul(x, Transpose(w)), MatMul(w, x)   [out, in]      nn.Linear's own order
//   Gemm(x, w), MatMul(x, w)                                      [in, out]      as exporters write nn.Linear
//   MatMul(x, w), w of more dimensions                            [..., in, out] matrices of equal fans (experts)
//   LSTM, GRU, RNN: W and R                                       [directions, out, in]
//   Conv, ConvTranspose, Gather (an embedding), all else          [out, in, receptive field...], the shape's own
//
// Of several uses the first product of matrices counts. Identity and Cast change nothing.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FANS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FANS_H

#include "compiler/Import/ONNX/File/FlatGraph.h"

#include "llvm/ADT/StringMap.h"

namespace cleave::onnx_import {

struct Fans {
  int64_t in = 0, out = 0;
};

class FanTable {
public:
  explicit FanTable(const FlatGraph &graph);

  // Of a tensor of at least two dimensions.
  Fans of(llvm::StringRef name, llvm::ArrayRef<int64_t> shape) const;

private:
  // Where the last two dimensions of a matrix are [out, in] or [in, out].
  enum class Order { OutIn, InOut };
  struct Alias {
    llvm::StringRef source;
    bool isTransposed; // its last two dimensions are exchanged
  };
  void addUse(const onnx::NodeProto &node);
  void addMatrix(llvm::StringRef name, Order order);

  llvm::StringMap<Alias> aliases_;
  llvm::StringMap<Order> orders_;
};

} // namespace cleave::onnx_import

#endif
