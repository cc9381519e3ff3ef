#include "compiler/Training/TrainingOptions.h"

#include "compiler/Support/Error.h"
#include "compiler/Training/Optimizers/Optimizer.h"
#include "runtime/base/EmptyItem.h"
#include "runtime/base/NearestName.h"
#include "runtime/base/NumberRange.h"
#include "runtime/base/OptionKeys.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;

namespace cleave {

namespace {

// Refuses a comma too many in a list of key=value.
Error checkItems(StringRef list) {
  std::string wrong = rt::describeEmptyItem(std::string_view(list.data(), list.size()));
  return wrong.empty() ? Error::success() : makeError(wrong + "; write KEY=VALUE, or leave the comma out");
}

std::string printNumber(double value) {
  std::string text;
  raw_string_ostream(text) << format("%.17g", value);
  return text;
}

Expected<double> parseNumber(StringRef key, StringRef text, double low, double high) {
  double value;
  if (text.empty() || text.getAsDouble(value) || !rt::isNumberFrom(value, low, high))
    return makeError("option '" + key + "' must be a number from " + printNumber(low) +
                     (std::isinf(high) ? "" : " and below " + printNumber(high)) + " (in f32); got: '" + text + "'");
  return value + 0.0; // -0 is 0
}

Expected<double> parseSetting(const OptimizerSetting &setting, StringRef text) {
  if (!setting.isFlag)
    return parseNumber(setting.key, text, setting.low, setting.high);
  if (text != "true" && text != "false")
    return makeError("option '" + setting.key + "' must be true or false; got: '" + text + "'");
  return text == "true" ? 1 : 0;
}

Error setOptimizerKey(OptimizerOptions &options, StringRef key, StringRef text) {
  const Optimizer &optimizer = *options.optimizer;
  if (key == "lr")
    return makeError("the learning rate is not compiled in; give it to the program: ./model train --lr " + text);
  auto setting = find_if(optimizer.settings, [&](const OptimizerSetting &s) { return s.key == key; });
  if (setting == optimizer.settings.end()) {
    auto keys = map_range(optimizer.settings, [](const OptimizerSetting &s) { return s.key; });
    return makeError("optimizer '" + optimizer.name + "' has no option '" + key + "'; it has" +
                     (keys.empty() ? std::string(" none") : ": " + join(keys, ", ")));
  }
  Expected<double> value = parseSetting(*setting, text);
  if (!value)
    return value.takeError();
  options.settings.set(key, *value);
  return Error::success();
}

std::string describeUnknownOptimizer(StringRef name) {
  std::vector<std::string> names;
  for (const Optimizer *optimizer : allOptimizers())
    names.push_back(optimizer->name);
  std::string near = rt::didYouMean(name, names);
  return ("unknown optimizer '" + name + "'; expected " + rt::joinChoices(names) + near +
          "; if a plug-in has it, give --load-pass-plugin FILE")
      .str();
}

std::string printSetting(const OptimizerSetting &setting, double value, const char *form) {
  std::string text;
  raw_string_ostream out(text);
  out << setting.key << "=";
  if (setting.isFlag)
    out << (value != 0 ? "true" : "false");
  else
    out << format(form, value);
  return text;
}

} // namespace

OptimizerOptions defaultOptimizer() { return cantFail(parseOptimizer("adamw")); }

Expected<OptimizerOptions> parseOptimizer(StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  const Optimizer *optimizer = findOptimizer(parts[0]);
  if (!optimizer)
    return makeError(describeUnknownOptimizer(parts[0]));
  if (Error error = checkItems(text))
    return error;
  OptimizerOptions options{optimizer, OptimizerSettings(optimizer->settings)};
  rt::OptionKeys given;
  for (StringRef part : drop_begin(parts)) {
    auto [key, value] = part.split('=');
    if (!given.add(key.trim()))
      return makeError("option '" + key.trim() + "' is given twice");
    if (Error error = setOptimizerKey(options, key.trim(), value.trim()))
      return error;
  }
  std::string mistake = optimizer->check ? optimizer->check(options.settings) : "";
  if (const std::string &undeclared = options.settings.undeclared(); !undeclared.empty())
    mistake = "in its check " + undeclared;
  if (!mistake.empty())
    return makeError("optimizer '" + optimizer->name + "': " + mistake);
  return options;
}

std::string printOptimizer(const OptimizerOptions &options) {
  std::string text = options.optimizer->name;
  for (const OptimizerSetting &setting : options.optimizer->settings)
    text += "," + printSetting(setting, options.settings.get(setting.key), "%.17g");
  return text;
}

std::string optimizerHelp() {
  std::string text;
  for (const Optimizer *optimizer : allOptimizers()) {
    auto settings =
        map_range(optimizer->settings, [](const OptimizerSetting &s) { return printSetting(s, s.byDefault, "%g"); });
    text += optimizer->name + " (" + join(settings, ", ") + ")" + (optimizer == allOptimizers().back() ? "" : " |\n");
  }
  return text;
}

Expected<ParamGroupOptions> parseParamGroup(StringRef text) {
  auto [patterns, settings] = text.rsplit(':');
  if (patterns.empty() || settings.empty())
    return makeError("a parameter group is PATTERN:key=value[,key=value...], as '*.bias:weight_decay=0'; got: '" +
                     text + "'");
  ParamGroupOptions group;
  if (Error error = checkItems(settings))
    return error;
  for (StringRef pattern : split(patterns, '|'))
    group.patterns.push_back(pattern.str());
  rt::OptionKeys given;
  for (StringRef part : split(settings, ',')) {
    auto [key, value] = part.split('=');
    if (key != "lr_scale" && key != "weight_decay")
      return makeError("parameter group '" + patterns + "' has no option '" + key +
                       "'; expected lr_scale or weight_decay");
    if (!given.add(key))
      return makeError("option '" + key + "' of parameter group '" + patterns + "' is given twice");
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
