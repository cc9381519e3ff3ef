#include "compiler/Training/Precision/Precision.h"

#include "compiler/Support/Error.h"
#include "runtime/base/NearestName.h"
#include "runtime/base/NumberRange.h"
#include "runtime/base/OptionKeys.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;

namespace cleave {

namespace {

Expected<FloatKind> parseFloat(StringRef text) {
  for (FloatKind kind : {FloatKind::F32, FloatKind::BF16, FloatKind::F16})
    if (text == floatName(kind))
      return kind;
  return makeError("unknown type '" + text + "'; expected f32, bf16 or fp16" +
                   rt::didYouMean(text, {"f32", "bf16", "fp16"}));
}

std::string printNumber(double value) {
  std::string text;
  raw_string_ostream(text) << format("%.17g", value);
  return text;
}

// A number of dynamic loss scaling, which must be above `above` and below `below`.
struct ScaleRow {
  StringRef key;
  double LossScaleOptions::*field;
  double above, below;
};
const ScaleRow scaleRows[] = {{"init", &LossScaleOptions::init, 0, INFINITY},
                              {"growth", &LossScaleOptions::growth, 1, INFINITY},
                              {"backoff", &LossScaleOptions::backoff, 0, 1}};

Error setScaleKey(LossScaleOptions &options, StringRef key, StringRef text) {
  if (key == "interval") {
    constexpr int64_t kMost = 1 << 24; // good steps are counted in f32
    if (text.getAsInteger(10, options.interval) || options.interval < 1 || options.interval > kMost)
      return makeError("'interval' must be a number of steps from 1 to " + llvm::Twine(kMost) + "; got: '" + text +
                       "'");
    return Error::success();
  }
  for (const ScaleRow &row : scaleRows) {
    if (row.key != key)
      continue;
    double value;
    if (text.getAsDouble(value) || !rt::isNumberAbove(value, row.above, row.below))
      return makeError("'" + key + "' must be a number above " + printNumber(row.above) +
                       (std::isinf(row.below) ? "" : " and below " + printNumber(row.below)) + " (in f32); got: '" +
                       text + "'");
    options.*row.field = value;
    return Error::success();
  }
  return makeError("there is no '" + key + "'; expected init, growth, backoff or interval");
}

} // namespace

StringRef floatName(FloatKind kind) {
  switch (kind) {
  case FloatKind::F32:
    return "f32";
  case FloatKind::BF16:
    return "bf16";
  case FloatKind::F16:
    return "fp16";
  }
  return "";
}

std::optional<FloatKind> floatKind(mlir::Type type) {
  if (type.isF32())
    return FloatKind::F32;
  if (type.isBF16())
    return FloatKind::BF16;
  return type.isF16() ? std::optional(FloatKind::F16) : std::nullopt;
}

mlir::FloatType floatType(mlir::MLIRContext *context, FloatKind kind) {
  mlir::Builder builder(context);
  return kind == FloatKind::F32    ? mlir::FloatType(builder.getF32Type())
         : kind == FloatKind::BF16 ? mlir::FloatType(builder.getBF16Type())
                                   : mlir::FloatType(builder.getF16Type());
}

Expected<PrecisionOptions> parsePrecision(StringRef text) {
  PrecisionOptions options;
  if (text.empty())
    return options;
  if (!text.contains('=')) {
    auto kind = parseFloat(text);
    if (!kind)
      return kind.takeError();
    options.param = options.reduce = *kind;
    return options;
  }
  for (StringRef part : split(text, ',')) {
    auto [name, type] = part.split('=');
    std::optional<FloatKind> *field = name == "param"    ? &options.param
                                      : name == "reduce" ? &options.reduce
                                      : name == "buffer" ? &options.buffer
                                                         : nullptr;
    if (!field)
      return makeError("there is no part '" + name + "'; expected param, reduce or buffer");
    if (*field)
      return makeError("'" + name + "' is given twice");
    auto kind = parseFloat(type);
    if (!kind)
      return kind.takeError();
    *field = *kind;
  }
  return options;
}

std::string printPrecision(const PrecisionOptions &options) {
  std::string text;
  for (auto [name, kind] :
       {std::pair("param", options.param), std::pair("reduce", options.reduce), std::pair("buffer", options.buffer)})
    if (kind)
      text += (text.empty() ? "" : ",") + std::string(name) + "=" + floatName(*kind).str();
  return text;
}

Expected<LossScaleOptions> parseLossScale(StringRef text) {
  using Mode = LossScaleOptions::Mode;
  LossScaleOptions options;
  auto [kind, settings] = text.split(',');
  if (text == "auto" || text == "none") {
    options.mode = text == "auto" ? Mode::Auto : Mode::None;
    return options;
  }
  if (kind != "dynamic") {
    options.mode = Mode::Fixed;
    if (text.getAsDouble(options.init) || !rt::isNumberAbove(options.init, 0))
      return makeError("expected dynamic, none or a positive number (in f32); got: '" + text + "'" +
                       rt::didYouMean(kind, {"dynamic", "none", "auto"}));
    return options;
  }
  options.mode = Mode::Dynamic;
  rt::OptionKeys given;
  for (StringRef part : split(settings, ',')) {
    if (settings.empty())
      break;
    auto [key, value] = part.split('=');
    if (Error error = setScaleKey(options, key, value))
      return error;
    if (!given.add(key))
      return makeError("'" + key + "' is given twice");
  }
  return options;
}

std::string printLossScale(const LossScaleOptions &options) {
  using Mode = LossScaleOptions::Mode;
  switch (options.mode) {
  case Mode::Auto:
    return "auto";
  case Mode::None:
    return "none";
  case Mode::Fixed:
    return printNumber(options.init);
  case Mode::Dynamic:
    break;
  }
  std::string text = "dynamic";
  for (const ScaleRow &row : scaleRows)
    text += "," + row.key.str() + "=" + printNumber(options.*row.field);
  return text + ",interval=" + std::to_string(options.interval);
}

} // namespace cleave
