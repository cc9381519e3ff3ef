// Imports constants of signal processing: HannWindow, HammingWindow, BlackmanWindow, MelWeightMatrix. Their sizes
// decide shapes, so they must be known, and the results are known, too.
#include "compiler/Import/ONNX/Operators/SignalOperators.h"

#include <cmath>

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;
using llvm::FailureOr;

namespace {

constexpr int64_t kMaxElements = int64_t(1) << 22; // largest number of elements of a result

FailureOr<Literal> emptyResult(OpContext &op, llvm::ArrayRef<int64_t> shape) {
  int64_t dtype = op.intAttr("output_datatype", 1);
  mlir::Type element = elementTypeOf(op.emit.context(), int(dtype));
  if (!element)
    return op.fail("its output_datatype " + dataTypeName(int(dtype)) + " is not supported");
  if (!op.emit.budget.draw(Budget::Kind::Elements, uint64_t(*countElements(shape))))
    return failure();
  return Literal(element, shape);
}

void push(Literal &literal, double number) {
  if (literal.isFloat())
    literal.push(number);
  else
    literal.push(int64_t(number));
}

// Imports a window: a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n).
template <int hundred0, int hundred1, int hundred2> LogicalResult importWindow(OpContext &op) {
  auto given = op.number("size", 0);
  if (failed(given))
    return failure();
  double size = given->value_or(-1);
  if (!(size >= 0 && size <= double(kMaxElements)))
    return op.fail("`size` must be between 0 and 2^22; got " + std::to_string(int64_t(size)));
  auto result = emptyResult(op, {int64_t(size)});
  if (failed(result))
    return failure();
  bool isHamming = hundred0 == 0;
  double a0 = isHamming ? 25.0 / 46 : hundred0 / 100.0, a1 = isHamming ? 1 - a0 : hundred1 / 100.0,
         a2 = hundred2 / 100.0;
  double turn = op.intAttr("periodic", 1) != 0 ? size : size - 1;
  for (int64_t i = 0; i < int64_t(size); ++i) {
    double angle = turn > 0 ? 2 * M_PI * double(i) / turn : M_PI; // a window of one number is its center
    push(*result, a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
  }
  return op.result(std::move(*result));
}

// Builds triangles over the bins of a transform. Their corners are at equal distances on the mel scale.
LogicalResult importMelWeightMatrix(OpContext &op) {
  double numbers[5];
  constexpr const char *names[] = {"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz"};
  for (size_t i = 0; i < 5; ++i) {
    auto number = op.number(names[i], i);
    if (failed(number))
      return failure();
    numbers[i] = number->value_or(0);
  }
  auto [count, length, rate, low, high] = numbers;
  double bins = std::floor(length / 2) + 1;
  if (!(count >= 1 && length >= 1 && rate >= 1 && low >= 0 && high >= low &&
        bins * (count + 2) <= double(kMaxElements)))
    return op.fail("expected num_mel_bins, dft_length and sample_rate of 1 or more, 0 <= lower_edge_hertz <= "
                   "upper_edge_hertz, and a result of at most 2^22 numbers");
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  std::vector<int64_t> corners;
  for (int64_t i = 0; i < int64_t(count) + 2; ++i) {
    double place = mel(low) + double(i) * (mel(high) - mel(low)) / (count + 2);
    corners.push_back(int64_t(std::floor((length + 1) * 700 * (std::pow(10, place / 2595) - 1) / rate)));
  }
  if (corners.back() >= int64_t(bins))
    return op.fail("upper_edge_hertz " + std::to_string(high) + " lies beyond the transform's last bin, of " +
                   std::to_string(rate / 2) + " hertz");
  auto result = emptyResult(op, {int64_t(bins), int64_t(count)});
  if (failed(result))
    return failure();
  for (int64_t bin = 0; bin < int64_t(bins); ++bin)
    for (size_t i = 0; i < size_t(count); ++i) {
      int64_t left = corners[i], middle = corners[i + 1], right = corners[i + 2];
      double weight = 0;
      if (bin >= middle && bin < right)
        weight = double(right - bin) / double(right - middle);
      else if (bin == middle)
        weight = 1;
      else if (bin >= left && bin < middle)
        weight = double(bin - left) / double(middle - left);
      push(*result, weight);
    }
  return op.result(std::move(*result));
}

} // namespace

void cleave::onnx_import::addSignalOperators(OperatorTable &table) {
  table.add("HannWindow", 17, importWindow<50, 50, 0>);
  table.add("HammingWindow", 17, importWindow<0, 0, 0>);
  table.add("BlackmanWindow", 17, importWindow<42, 50, 8>);
  table.add("MelWeightMatrix", 17, importMelWeightMatrix);
}
