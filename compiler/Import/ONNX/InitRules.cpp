#include "compiler/Import/ONNX/InitRules.h"

#include "compiler/Import/ONNX/Support.h"
#include "compiler/Support/Usage.h"
#include "runtime/plan/DrawnWeights.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <tuple>

using namespace cleave;
using namespace cleave::onnx_import;

namespace {

struct Argument {
  const char *name;
  std::optional<double> standard; // nullopt: it must be given
};
struct Function {
  const char *name;
  std::vector<Argument> arguments; // those that are numbers
};

// The functions of torch.nn.init. The Kaiming functions have two more arguments, which are words.
const std::vector<Function> &functions() {
  static const std::vector<Function> table = {{"normal", {{"mean", 0}, {"std", 1}}},
                                              {"uniform", {{"a", 0}, {"b", 1}}},
                                              {"kaiming_normal", {{"a", 0}}},
                                              {"kaiming_uniform", {{"a", 0}}},
                                              {"xavier_normal", {{"gain", 1}}},
                                              {"xavier_uniform", {{"gain", 1}}},
                                              {"zeros", {}},
                                              {"ones", {}},
                                              {"constant", {{"val", std::nullopt}}}};
  return table;
}

const Function *findFunction(llvm::StringRef name) {
  for (const Function &function : functions())
    if (name == function.name)
      return &function;
  return nullptr;
}

// Parses "0.02", "1e-3" or "sqrt(5)". Returns nullopt if the text is not a finite number.
std::optional<double> parseNumber(llvm::StringRef text) {
  bool isRoot = text.consume_front("sqrt(") && text.consume_back(")");
  double value = 0;
  if (text.trim().getAsDouble(value) || !std::isfinite(value) || (isRoot && value < 0))
    return std::nullopt;
  return isRoot ? std::sqrt(value) : value;
}

std::string printNumber(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

bool isKaiming(llvm::StringRef kind) { return kind.starts_with("kaiming"); }

llvm::Error wrong(const llvm::Twine &message) { return usageError("--init", message); }

} // namespace

llvm::Expected<InitSpec> InitSpec::parse(llvm::StringRef text) {
  InitSpec spec;
  size_t open = text.find('(');
  llvm::StringRef kind = text.take_front(open).trim(), arguments = open == text.npos ? "" : text.drop_front(open + 1);
  if (open != text.npos && !arguments.consume_back(")"))
    return wrong("expected a ')' at the end of '" + text + "'");
  kind.consume_back("_");
  const Function *function = findFunction(kind);
  if (!function) {
    std::string known;
    for (const Function &each : functions())
      known += (known.empty() ? "" : ", ") + std::string(each.name);
    return wrong("expected one of " + known + "; got: '" + kind + "'");
  }
  spec.kind_ = kind.str();
  for (const Argument &argument : function->arguments)
    if (argument.standard)
      spec.numbers_[argument.name] = *argument.standard;
  llvm::SmallVector<llvm::StringRef> parts;
  if (!arguments.trim().empty())
    arguments.split(parts, ',');
  rt::OptionKeys given;
  for (auto [place, part] : llvm::enumerate(parts))
    if (llvm::Error error = spec.addArgument(part.trim(), place, given))
      return error;
  if (llvm::Error error = spec.check())
    return error;
  return spec;
}

llvm::Error InitSpec::addArgument(llvm::StringRef text, size_t place, rt::OptionKeys &given) {
  const std::vector<Argument> &arguments = findFunction(kind_)->arguments;
  llvm::StringRef name, value;
  std::tie(name, value) = text.split('=');
  if (!text.contains('=')) {
    if (place >= arguments.size())
      return wrong(kind_ + ": expected at most " + llvm::Twine(arguments.size()) + " numbers; got one more: '" + text +
                   "'");
    value = text;
    name = arguments[place].name;
  }
  name = name.trim();
  value = value.trim();
  if (!given.add(name))
    return wrong(kind_ + ": " + name + " is given twice");
  if (isKaiming(kind_) && (name == "mode" || name == "nonlinearity")) {
    value = value.trim("'\"");
    (name == "mode" ? mode_ : nonlinearity_) = value.str();
    return llvm::Error::success();
  }
  if (llvm::none_of(arguments, [&](const Argument &argument) { return name == argument.name; }))
    return wrong(kind_ + " has no argument '" + name + "'");
  auto number = parseNumber(value);
  if (!number || !std::isfinite(static_cast<float>(*number))) // infinite parameters cannot be trained
    return wrong(kind_ + ": expected a finite number for " + name + ", as in 0.02 or sqrt(5); got: '" + value + "'");
  numbers_[name.str()] = *number;
  return llvm::Error::success();
}

llvm::Error InitSpec::check() const {
  for (const Argument &argument : findFunction(kind_)->arguments)
    if (!numbers_.count(argument.name))
      return wrong(kind_ + " needs " + argument.name + ", as in " + kind_ + "(0.5)");
  if (kind_ == "normal" && numbers_.at("std") < 0)
    return wrong("normal: expected a standard deviation from 0; got: " + printNumber(numbers_.at("std")));
  if (kind_ == "uniform" && numbers_.at("a") > numbers_.at("b"))
    return wrong("uniform: expected a to be at most b; got: " + printNumber(numbers_.at("a")) + " and " +
                 printNumber(numbers_.at("b")));
  if (kind_ == "uniform" && !std::isfinite(numbers_.at("b") - numbers_.at("a")))
    return wrong("uniform: expected a finite distance of a and b; got: " + printNumber(numbers_.at("a")) + " and " +
                 printNumber(numbers_.at("b")));
  if (mode_ != "fan_in" && mode_ != "fan_out")
    return wrong(kind_ + ": expected mode fan_in or fan_out; got: '" + mode_ + "'");
  if (std::isnan(gain()))
    return wrong(kind_ + ": expected nonlinearity leaky_relu, relu, linear, sigmoid, tanh or selu; got: '" +
                 nonlinearity_ + "'");
  return llvm::Error::success();
}

// Returns the gain of torch.nn.init.calculate_gain, or NaN if the nonlinearity's name is unknown.
double InitSpec::gain() const {
  if (!isKaiming(kind_))
    return 1;
  double slope = numbers_.at("a");
  return nonlinearity_ == "leaky_relu"                             ? std::sqrt(2 / (1 + slope * slope))
         : nonlinearity_ == "relu"                                 ? std::sqrt(2.0)
         : nonlinearity_ == "linear" || nonlinearity_ == "sigmoid" ? 1.0
         : nonlinearity_ == "tanh"                                 ? 5.0 / 3
         : nonlinearity_ == "selu"                                 ? 0.75
                                                                   : NAN;
}

llvm::Expected<InitAttr> InitSpec::resolve(mlir::MLIRContext *context, llvm::StringRef name,
                                           llvm::ArrayRef<int64_t> shape, const FanTable &fans) const {
  mlir::Builder builder(context);
  if (isFill()) {
    double value = kind_ == "constant" ? numbers_.at("val") : kind_ == "ones" ? 1 : 0;
    return InitAttr::get(context, value == 0 ? InitKind::Zeros : InitKind::Constant, mlir::StringAttr(),
                         value == 0 ? mlir::FloatAttr() : builder.getF64FloatAttr(value));
  }
  rt::Draw draw;
  draw.name = name.str();
  if (kind_ == "normal") {
    draw.value = numbers_.at("mean");
    draw.scale = numbers_.at("std");
  } else if (kind_ == "uniform") {
    draw.kind = rt::Draw::Kind::Uniform;
    draw.value = numbers_.at("a");
    draw.scale = numbers_.at("b") - draw.value;
  } else {
    if (shape.size() < 2)
      return wrong(kind_ + " scales by the number of inputs and outputs, and " + quote(name) + " of shape " +
                   formatShape(shape) + " has none; give it a rule of its own before, as in '" + name + "=zeros'");
    Fans fan = fans.of(name, shape);
    double connections = isKaiming(kind_) ? (mode_ == "fan_in" ? fan.in : fan.out) : (fan.in + fan.out) / 2.0;
    double deviation = (isKaiming(kind_) ? gain() : numbers_.at("gain")) / std::sqrt(std::max(connections, 1.0));
    draw.scale = deviation;
    if (llvm::StringRef(kind_).ends_with("uniform")) {
      draw.kind = rt::Draw::Kind::Uniform;
      draw.value = -std::sqrt(3.0) * deviation;
      draw.scale = -2 * draw.value;
    }
  }
  return InitAttr::get(context, InitKind::Weights, builder.getStringAttr(draw.text()), mlir::FloatAttr());
}

llvm::Expected<InitRules> InitRules::parse(llvm::ArrayRef<std::string> texts) {
  InitRules rules;
  std::optional<InitSpec> standard;
  for (llvm::StringRef text : texts) {
    size_t equals = text.take_front(text.find('(')).rfind('=');
    auto spec = InitSpec::parse(equals == text.npos ? text : text.drop_front(equals + 1));
    if (!spec)
      return spec.takeError();
    if (equals == text.npos && standard)
      return wrong("two rules are without a pattern; only one can be for all that no pattern names; got: '" + text +
                   "'");
    if (equals == text.npos) {
      standard = std::move(*spec);
      continue;
    }
    rules.texts_.push_back(text.take_front(equals).str());
    rules.specs_.push_back(std::move(*spec));
  }
  auto patterns = NamePatterns::parse("--init", rules.texts_);
  if (!patterns)
    return patterns.takeError();
  rules.patterns_ = std::move(*patterns);
  if (standard) {
    rules.default_ = rules.specs_.size();
    rules.specs_.push_back(std::move(*standard));
  }
  return rules;
}

const InitSpec *InitRules::match(llvm::ArrayRef<std::string> names) {
  std::optional<size_t> rule = patterns_.match(names);
  if (!rule)
    rule = default_;
  return rule ? &specs_[*rule] : nullptr;
}

const InitSpec *InitRules::matchBuffer(llvm::ArrayRef<std::string> names) {
  NamePatterns looked = patterns_; // a rule that does not apply counts as unused
  std::optional<size_t> rule = looked.match(names);
  return rule && specs_[*rule].isFill() ? match(names) : nullptr;
}

llvm::Error InitRules::checkUsed(llvm::ArrayRef<std::string> parameters, llvm::ArrayRef<std::string> others) const {
  if (llvm::Error error = patterns_.checkUsed(parameters, "parameters")) {
    std::string text = llvm::toString(std::move(error));
    for (const std::string &pattern : texts_)
      for (const std::string &name : others)
        if (llvm::StringRef(text).contains("pattern '" + pattern + "' matches none") &&
            matchesNamePattern(pattern, name))
          return wrong("pattern '" + pattern + "' names " + quote(name) +
                       ", which is not a parameter: integers, constants and buffers keep the file's values (zeros, "
                       "ones and constant(...) do for buffers)");
    return llvm::make_error<UsageError>(text);
  }
  return llvm::Error::success();
}
