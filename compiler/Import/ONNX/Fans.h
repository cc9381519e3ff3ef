// Computes the fans of a weight: the numbers of inputs and outputs that it connects. Kaiming's and Xavier's initial
// values are scaled by them.
//
// PyTorch reads them from the shape, [out, in, receptive field...]. ONNX files store the same weights in other orders,
// so the first use of the weight decides:
//
//   Gemm(x, w, transB=1), MatMul(x, Transpose(w)), MatMul(w, x)   [out, in]      nn.Linear's own order
//   Gemm(x, w), MatMul(x, w)                                      [in, out]      as exporters write nn.Linear
//   MatMul(x, w), w of more dimensions                            [..., in, out] matrices of equal fans (experts)
//   LSTM, GRU, RNN: W and R                                       [directions, out, in]
//   Conv, ConvTranspose, Gather (an embedding), all else          [out, in, receptive field...], the shape's own
//
// If a weight has several uses, the first matrix product counts. Identity and Cast do not change the order.
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

  // Returns the fans of a tensor. It must have at least two dimensions.
  Fans of(llvm::StringRef name, llvm::ArrayRef<int64_t> shape) const;

private:
  // The order of the last two dimensions of a matrix.
  enum class Order { OutIn, InOut };
  struct Alias {
    llvm::StringRef source; // of no alias itself: graphs of different nodes may use one name, and give it to each other
    bool isTransposed;      // its last two dimensions are exchanged
  };
  Alias aliasOf(llvm::StringRef name) const;
  void addUse(const onnx::NodeProto &node);
  void addMatrix(llvm::StringRef name, Order order);

  llvm::StringMap<Alias> aliases_;
  llvm::StringMap<Order> orders_;
};

} // namespace cleave::onnx_import

#endif
