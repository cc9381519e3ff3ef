#include "compiler/Training/TrainingOptions.h"

#include "compiler/Support/Error.h"
#include "runtime/base/NumberRange.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;

namespace cleave {

namespace {

struct KindRow {
  StringRef name;
  OptimizerKind kind;
  double eps, weightDecay;
};
constexpr KindRow kinds[] = {{"sgd", OptimizerKind::Sgd, 1e-8, 0},
                             {"adam", OptimizerKind::Adam, 1e-8, 0},
                             {"adamw", OptimizerKind::AdamW, 1e-8, 1e-2},
                             {"adadelta", OptimizerKind::Adadelta, 1e-6, 0}};

// A number that a user may type: which field, its name, its legal range [low, high).
struct NumberRow {
  StringRef key;
  double OptimizerOptions::*field;
  double low, high;
  std::initializer_list<OptimizerKind> kinds; // empty: all
};
const NumberRow numbers[] = {
    {"momentum", &OptimizerOptions::momentum, 0, INFINITY, {OptimizerKind::Sgd}},
    {"dampening", &OptimizerOptions::dampening, 0, INFINITY, {OptimizerKind::Sgd}},
    {"beta1", &OptimizerOptions::beta1, 0, 1, {OptimizerKind::Adam, OptimizerKind::AdamW}},
    {"beta2", &OptimizerOptions::beta2, 0, 1, {OptimizerKind::Adam, OptimizerKind::AdamW}},
    {"rho", &OptimizerOptions::rho, 0, 1, {OptimizerKind::Adadelta}},
    {"eps", &OptimizerOptions::eps, 0, INFINITY, {OptimizerKind::Adam, OptimizerKind::AdamW, OptimizerKind::Adadelta}},
    {"weight_decay", &OptimizerOptions::weightDecay, 0, INFINITY, {}}};

bool has(const NumberRow &row, OptimizerKind kind) { return row.kinds.size() == 0 || is_contained(row.kinds, kind); }

std::string printNumber(double value) {
  std::string text;
  raw_string_ostream(text) << format("%.17g", value);
  return text;
}

Expected<double> parseNumber(StringRef key, StringRef text, double low, double high) {
  double value;
  if (text.empty() || text.getAsDouble(value) || !rt::isNumberFrom(value, low, high))
    return makeError("option '" + key + "' wants a number from " + printNumber(low) +
                     (std::isinf(high) ? "" : " and below " + printNumber(high)) + " (in f32); got: '" + text + "'");
  return value + 0.0; // -0 is 0
}

Error setOptimizerKey(OptimizerOptions &options, StringRef key, StringRef text) {
  StringRef name = optimizerName(options.kind);
  if (key == "lr")
    return makeError("the learning rate is not compiled in; give it to the program: ./model train --lr " + text);
  if (key == "nesterov" && options.kind == OptimizerKind::Sgd) {
    if (text != "true" && text != "false")
      return makeError("option 'nesterov' wants true or false; got: '" + text + "'");
    options.nesterov = text == "true";
    return Error::success();
  }
  for (const NumberRow &row : numbers)
    if (row.key == key && has(row, options.kind)) {
      Expected<double> value = parseNumber(key, text, row.low, row.high);
      if (!value)
        return value.takeError();
      options.*row.field = *value;
      return Error::success();
    }
  std::string known;
  for (const NumberRow &row : numbers)
    if (has(row, options.kind))
      known += (known.empty() ? "" : ", ") + row.key.str();
  return makeError("optimizer '" + name + "' has no option '" + key + "'; it has: " + known +
                   (options.kind == OptimizerKind::Sgd ? ", nesterov" : ""));
}

} // namespace

StringRef optimizerName(OptimizerKind kind) {
  return find_if(kinds, [&](const KindRow &row) { return row.kind == kind; })->name;
}

Expected<OptimizerOptions> parseOptimizer(StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  const KindRow *row = find_if(kinds, [&](const KindRow &r) { return r.name == parts[0]; });
  if (row == std::end(kinds))
    return makeError("unknown optimizer '" + parts[0] + "'; expected sgd, adam, adamw or adadelta");
  OptimizerOptions options;
  options.kind = row->kind;
  options.eps = row->eps;
  options.weightDecay = row->weightDecay;
  for (StringRef part : drop_begin(parts)) {
    auto [key, value] = part.split('=');
    if (Error error = setOptimizerKey(options, key.trim(), value.trim()))
      return error;
  }
  if (options.nesterov && (options.momentum <= 0 || options.dampening != 0))
    return makeError("optimizer 'sgd' with nesterov needs momentum above 0 and dampening 0");
  return options;
}

std::string printOptimizer(const OptimizerOptions &options) {
  std::string text = optimizerName(options.kind).str();
  for (const NumberRow &row : numbers)
    if (has(row, options.kind))
      text += "," + row.key.str() + "=" + printNumber(options.*row.field);
  return text + (options.nesterov ? ",nesterov=true" : "");
}

Expected<ParamGroupOptions> parseParamGroup(StringRef text) {
  auto [patterns, settings] = text.rsplit(':');
  if (patterns.empty() || settings.empty())
    return makeError("a parameter group is PATTERN:key=value[,key=value...]; got: '" + text + "'");
  ParamGroupOptions group;
  for (StringRef pattern : split(patterns, '|'))
    group.patterns.push_back(pattern.str());
  for (StringRef part : split(settings, ',')) {
    auto [key, value] = part.split('=');
    if (key != "lr_scale" && key != "weight_decay")
      return makeError("parameter group '" + patterns + "' has no option '" + key +
                       "'; expected lr_scale or weight_decay");
    Expected<double> number = parseNumber(key, value, 0, INFINITY);
    if (!number)
      return number.takeError();
    if (key == "lr_scale")
      group.lrScale = *number;
    else
      group.weightDecay = *number;
  }
  return group;
}

std::string printParamGroup(const ParamGroupOptions &group) {
  std::string text = join(group.patterns, "|") + ":lr_scale=" + printNumber(group.lrScale);
  return text + (group.weightDecay ? ",weight_decay=" + printNumber(*group.weightDecay) : "");
}

Expected<LossAverage> parseLossAverage(StringRef text) {
  if (text == "global")
    return LossAverage::Global;
  if (text == "rank")
    return LossAverage::Rank;
  return makeError("the loss average is 'global' or 'rank'; got: '" + text + "'");
}

StringRef lossAverageName(LossAverage average) { return average == LossAverage::Global ? "global" : "rank"; }

} // namespace cleave
