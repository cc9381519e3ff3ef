#include "compiler/Import/ONNX/Operators/Windows.h"

using namespace cleave::onnx_import;
using llvm::failed;
using llvm::FailureOr;

namespace {

constexpr int64_t kLimit = int64_t(1) << 31;

// Returns an attribute that has `size` entries, all in [low, kLimit). Without the attribute, all entries are
// `otherwise`.
FailureOr<Shape> readAttribute(OpContext &op, llvm::StringRef name, size_t size, int64_t low, int64_t otherwise) {
  Shape values = op.intsAttr(name).value_or(Shape(size, otherwise));
  if (values.size() != size)
    return op.fail("`" + name + "` must have " + llvm::Twine(size) + " numbers; got " + formatShape(values));
  if (llvm::any_of(values, [&](int64_t value) { return value < low || value >= kLimit; }))
    return op.fail("`" + name + "` must be at least " + llvm::Twine(low) + " and below 2^31; got " +
                   formatShape(values));
  return values;
}

// Pads for SAME: as many windows as strides fit. If the padding is odd, the end (UPPER) or the beginning (LOWER) gets
// one more.
void padSame(Windows &windows, llvm::ArrayRef<int64_t> sizes, bool upper) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t count = (sizes[i] + windows.strides[i] - 1) / windows.strides[i];
    int64_t extent = (windows.kernel[i] - 1) * windows.dilations[i] + 1;
    int64_t total = std::max<int64_t>((count - 1) * windows.strides[i] + extent - sizes[i], 0);
    windows.padLow[i] = upper ? total / 2 : total - total / 2;
    windows.padHigh[i] = total - windows.padLow[i];
  }
}

LogicalResult countWindows(OpContext &op, Windows &windows, llvm::ArrayRef<int64_t> sizes, bool ceilMode) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t extent = (windows.kernel[i] - 1) * windows.dilations[i] + 1;
    int64_t room = sizes[i] + windows.padLow[i] + windows.padHigh[i] - extent;
    if (room < 0)
      return op.fail("a window of " + llvm::Twine(extent) + " does not fit into the padded size " +
                     llvm::Twine(room + extent) + " of spatial dimension " + llvm::Twine(i));
    int64_t stride = windows.strides[i], count = room / stride + 1;
    windows.beyond.push_back(0);
    if (ceilMode && room % stride != 0 && count * stride < sizes[i] + windows.padLow[i]) {
      windows.beyond[i] = stride - room % stride;
      windows.padHigh[i] += windows.beyond[i];
      ++count;
    }
    windows.output.push_back(count);
  }
  return success();
}

LogicalResult checkKernel(OpContext &op, llvm::ArrayRef<int64_t> kernel, llvm::ArrayRef<int64_t> dilations,
                          size_t dims) {
  auto isHuge = [](int64_t size) { return size > (1 << 20); };
  if (kernel.size() == dims && llvm::all_of(kernel, [](int64_t size) { return size >= 1; }) &&
      llvm::none_of(kernel, isHuge) && llvm::none_of(dilations, isHuge))
    return success();
  return op.fail("the window " + formatShape(kernel) + " must have one size of at least 1 for each of " +
                 llvm::Twine(dims) + " spatial dimensions");
}

} // namespace

FailureOr<Windows> cleave::onnx_import::readWindows(OpContext &op, llvm::ArrayRef<int64_t> input, Shape kernel) {
  llvm::ArrayRef<int64_t> sizes = input.drop_front(2);
  size_t dims = sizes.size();
  auto strides = readAttribute(op, "strides", dims, 1, 1), dilations = readAttribute(op, "dilations", dims, 1, 1);
  auto pads = readAttribute(op, "pads", 2 * dims, 0, 0);
  if (failed(strides) || failed(dilations) || failed(pads))
    return llvm::failure();
  if (failed(checkKernel(op, kernel, *dilations, dims)))
    return llvm::failure();
  Windows windows{kernel,
                  *strides,
                  *dilations,
                  Shape(pads->begin(), pads->begin() + dims),
                  Shape(pads->begin() + dims, pads->end()),
                  {},
                  {}};
  std::string automatic = op.stringAttr("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER")
    padSame(windows, sizes, automatic == "SAME_UPPER");
  else if (automatic == "VALID")
    windows.padLow = windows.padHigh = Shape(dims, 0);
  else if (automatic != "NOTSET" && !automatic.empty())
    return op.fail("auto_pad " + quote(automatic) + " is not known");
  if (failed(countWindows(op, windows, sizes, op.intAttr("ceil_mode", 0) != 0)))
    return llvm::failure();
  return windows;
}

FailureOr<TransposedWindows> cleave::onnx_import::readTransposedWindows(OpContext &op, llvm::ArrayRef<int64_t> sizes,
                                                                        Shape kernel) {
  size_t dims = sizes.size();
  auto strides = readAttribute(op, "strides", dims, 1, 1), dilations = readAttribute(op, "dilations", dims, 1, 1);
  auto pads = readAttribute(op, "pads", 2 * dims, 0, 0), output = readAttribute(op, "output_padding", dims, 0, 0);
  if (failed(strides) || failed(dilations) || failed(pads) || failed(output) ||
      failed(checkKernel(op, kernel, *dilations, dims)))
    return llvm::failure();
  TransposedWindows windows{kernel,
                            *strides,
                            *dilations,
                            Shape(pads->begin(), pads->begin() + dims),
                            Shape(pads->begin() + dims, pads->end()),
                            *output,
                            {}};
  for (size_t i = 0; i < dims; ++i) {
    int64_t covered = (sizes[i] - 1) * (*strides)[i] + (kernel[i] - 1) * (*dilations)[i] + 1;
    if (sizes[i] > kLimit || covered > kLimit)
      return op.fail("the windows of spatial dimension " + llvm::Twine(i) + " cover more than 2^31 elements");
    if ((*output)[i] >= std::max((*strides)[i], (*dilations)[i]))
      return op.fail("`output_padding` " + llvm::Twine((*output)[i]) + " of spatial dimension " + llvm::Twine(i) +
                     " must be below the stride " + llvm::Twine((*strides)[i]) + " or the dilation " +
                     llvm::Twine((*dilations)[i]));
    windows.covered.push_back(covered);
  }
  return windows;
}
