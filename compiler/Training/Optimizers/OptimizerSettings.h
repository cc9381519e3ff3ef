// The numbers of an optimizer that a user may set: `--optimizer sgd,momentum=0.9,nesterov=true`.
//
// Each setting is declared once, with its default, its range and one line of help. The parser, its messages and the
// help text are made from the declaration.
#ifndef CLEAVE_COMPILER_TRAINING_OPTIMIZERS_OPTIMIZERSETTINGS_H
#define CLEAVE_COMPILER_TRAINING_OPTIMIZERS_OPTIMIZERSETTINGS_H

#include "llvm/ADT/StringRef.h"

#include <cmath>
#include <string>
#include <vector>

namespace cleave {

struct OptimizerSetting {
  std::string key;
  double byDefault;
  double low, high; // legal values: [low, high)
  std::string help;
  bool isFlag = false; // a user types true or false; the value is 1 or 0

  static OptimizerSetting number(std::string key, double byDefault, double low, double high, std::string help) {
    return {std::move(key), byDefault, low, high, std::move(help)};
  }
  static OptimizerSetting flag(std::string key, std::string help) {
    return {std::move(key), 0, 0, 2, std::move(help), true};
  }
  // `--param-group` may give another value to some parameters. An optimizer without this setting has no weight decay.
  static OptimizerSetting weightDecay(double byDefault, std::string help) {
    return number(kWeightDecay.str(), byDefault, 0, INFINITY, std::move(help));
  }
  static constexpr llvm::StringLiteral kWeightDecay = "weight_decay";
};

// The values of one optimizer's settings: defaults, or values that the user has set.
class OptimizerSettings {
public:
  OptimizerSettings() = default;
  explicit OptimizerSettings(const std::vector<OptimizerSetting> &declared);

  bool has(llvm::StringRef key) const { return find(key) != nullptr; }
  // Returns 0 if the optimizer does not declare the setting. This is a mistake in its own code, which undeclared() tells.
  double get(llvm::StringRef key) const;
  bool isSet(llvm::StringRef key) const { return get(key) != 0; }
  void set(llvm::StringRef key, double value);
  // "it reads the setting 'epsilon', and declares eps, weight_decay", after such a mistake. Otherwise empty.
  const std::string &undeclared() const { return mistake; }

private:
  struct Entry {
    std::string key;
    double value;
  };
  const Entry *find(llvm::StringRef key) const;

  std::vector<Entry> entries;
  mutable std::string mistake; // the first one
};

} // namespace cleave

#endif
