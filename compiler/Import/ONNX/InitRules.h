// Parses the rules of `--init`, which give parameters initial values in place of the file's. They use the words of
// torch.nn.init.
//
//   --init '*.bias=zeros' --init 'h.*.weight=kaiming_uniform(a=sqrt(5))' --init 'normal(std=0.02)'
//
// The first pattern that matches a name counts. A rule without a pattern is for names that no pattern matches.
// Arguments are given by name or by position, and a number may be sqrt(N). The Kaiming and Xavier rules are resolved
// here, from the weight's fans (Fans.h), so that a plan contains only normal and uniform distributions
// (runtime/plan/DrawnWeights.h).
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_INITRULES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_INITRULES_H

#include "compiler/Import/ONNX/Fans.h"
#include "compiler/Support/NamePatterns.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "runtime/base/OptionKeys.h"

#include <map>

namespace cleave::onnx_import {

// The right side of one rule.
class InitSpec {
public:
  // Parses for example "kaiming_uniform(a=sqrt(5))". The function's name may end with the underscore of PyTorch's
  // names.
  static llvm::Expected<InitSpec> parse(llvm::StringRef text);

  // True if all elements get the same value, so that nothing is drawn.
  bool isFill() const { return kind_ == "constant" || kind_ == "zeros" || kind_ == "ones"; }
  // Returns the initial value of the tensor with this name and shape.
  llvm::Expected<InitAttr> resolve(mlir::MLIRContext *context, llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                                   const FanTable &fans) const;

private:
  llvm::Error addArgument(llvm::StringRef text, size_t place, rt::OptionKeys &given);
  llvm::Error check() const;
  double gain() const;

  std::string kind_;
  std::map<std::string, double> numbers_;
  std::string mode_ = "fan_in", nonlinearity_ = "leaky_relu";
};

class InitRules {
public:
  static llvm::Expected<InitRules> parse(llvm::ArrayRef<std::string> texts);

  bool empty() const { return specs_.empty(); }
  // Returns the rule for a parameter with these names, or null if there is none.
  const InitSpec *match(llvm::ArrayRef<std::string> names);
  // Returns the rule for a buffer with these names, or null. Only a pattern whose rule is a fill applies to buffers. Rules that draw
  // numbers, and the rule without a pattern, are only for parameters.
  const InitSpec *matchBuffer(llvm::ArrayRef<std::string> names);
  // True if `spec` is the rule without a pattern.
  bool isDefault(const InitSpec *spec) const { return default_ && spec == &specs_[*default_]; }
  // Fails if a pattern has matched nothing. `others` are the initializers that no rule can change.
  llvm::Error checkUsed(llvm::ArrayRef<std::string> parameters, llvm::ArrayRef<std::string> others) const;

private:
  std::vector<std::string> texts_; // the patterns
  std::vector<InitSpec> specs_;    // one of each pattern, then that of the rule without a pattern
  std::optional<size_t> default_;
  NamePatterns patterns_;
};

} // namespace cleave::onnx_import

#endif
