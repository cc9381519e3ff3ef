#include "dialects/Cleave/IR/WindowSupport.h"

using namespace cleave;
using llvm::ArrayRef;

// The largest value. Products of two such values, and their sums, do not overflow.
static constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

static llvm::LogicalResult checkValues(llvm::StringRef name, ArrayRef<int64_t> values, size_t rank, int64_t least,
                                       EmitError emitError) {
  if (values.size() != rank)
    return emitError() << "expects one value of " << name << " for each of the " << rank
                       << " spatial dimensions; got: " << values.size();
  for (int64_t value : values)
    if (value < least)
      return emitError() << "expects " << name << " of at least " << least << "; got: " << value;
    else if (value > kMost)
      return emitError() << "expects " << name << " of at most " << kMost << "; got: " << value;
  return mlir::success();
}

llvm::FailureOr<SmallVector<int64_t>> cleave::windowOutput(const Window &window, ArrayRef<int64_t> in,
                                                           EmitError emitError) {
  size_t rank = in.size();
  if (mlir::failed(checkValues("window", window.kernel, rank, 1, emitError)) ||
      mlir::failed(checkValues("strides", window.strides, rank, 1, emitError)) ||
      mlir::failed(checkValues("dilations", window.dilations, rank, 1, emitError)) ||
      mlir::failed(checkValues("pad_low", window.padLow, rank, 0, emitError)) ||
      mlir::failed(checkValues("pad_high", window.padHigh, rank, 0, emitError)))
    return mlir::failure();
  SmallVector<int64_t> out;
  for (size_t i = 0; i < rank; ++i) {
    int64_t padded = in[i] + window.padLow[i] + window.padHigh[i];
    int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
    if (extent > padded)
      return emitError() << "expects a window that fits into the padded input along spatial dimension " << i
                         << "; got: a window of " << extent << " in " << padded;
    out.push_back((padded - extent) / window.strides[i] + 1);
  }
  return out;
}

llvm::FailureOr<SmallVector<int64_t>> cleave::poolOutput(const Window &window, ArrayRef<int64_t> in,
                                                         EmitError emitError) {
  llvm::FailureOr<SmallVector<int64_t>> out = windowOutput(window, in, emitError);
  for (size_t i = 0; mlir::succeeded(out) && i < out->size(); ++i) {
    int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
    if (window.padLow[i] >= extent || window.padHigh[i] >= extent)
      return emitError() << "expects padding smaller than the window along spatial dimension " << i << "; got: pad_low "
                         << window.padLow[i] << ", pad_high " << window.padHigh[i] << ", window " << extent;
  }
  return out;
}

llvm::LogicalResult cleave::checkForwardType(mlir::Type got, mlir::RankedTensorType expected, EmitError emitError) {
  if (got == expected)
    return mlir::success();
  return emitError() << "expects a gradient of the forward op's result type " << expected << "; got: " << got;
}

void cleave::appendWindowParams(KernelSpec &spec, const Window &window, ArrayRef<int64_t> in, ArrayRef<int64_t> out) {
  auto append = [&](llvm::StringRef name, ArrayRef<int64_t> values) {
    spec.params.push_back({name, SmallVector<int64_t>(values)});
  };
  append("rank", static_cast<int64_t>(in.size()));
  append("in", in);
  append("out", out);
  append("kernel", window.kernel);
  append("stride", window.strides);
  append("dilation", window.dilations);
  append("pad_low", window.padLow);
  append("pad_high", window.padHigh);
}
