// Which initial values parameters get in the place of the file's: `--init`, in the words of torch.nn.init.
//
//   --init '*.bias=zeros' --init 'h.*.weight=kaiming_uniform(a=sqrt(5))' --init 'normal(std=0.02)'
//
// The first pattern that matches a name counts; a rule without a pattern is for what no pattern names. Arguments go by
// name or place, a number may be sqrt(N). Kaiming and Xavier are resolved here, from the weight's fans (Fans.h), so that
// a plan knows normal and uniform alone (runtime/plan/DrawnWeights.h).
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_INITRULES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_INITRULES_H

#include "compiler/Import/ONNX/Fans.h"
#include "compiler/Support/NamePatterns.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "runtime/base/OptionKeys.h"

#include <map>

namespace cleave::onnx_import {

// One rule's right side.
class InitSpec {
public:
  // "kaiming_uniform(a=sqrt(5))"; the trailing underscore of PyTorch's functions may be there.
  static llvm::Expected<InitSpec> parse(llvm::StringRef text);

  // Every element is the same, and nothing is drawn.
  bool isFill() const { return kind_ == "constant" || kind_ == "zeros" || kind_ == "ones"; }
  // How a tensor of that name begins.
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
  // The rule for a parameter; null: none.
  const InitSpec *match(llvm::StringRef name);
  // The rule for a buffer: of a pattern that fills it. What is drawn, and the rule without a pattern, is for parameters.
  const InitSpec *matchBuffer(llvm::StringRef name);
  // Whether the rule is the one without a pattern.
  bool isDefault(const InitSpec *spec) const { return default_ && spec == &specs_[*default_]; }
  // An error for a pattern that has matched nothing; `others` are initializers that no rule can change.
  llvm::Error checkUsed(llvm::ArrayRef<std::string> parameters, llvm::ArrayRef<std::string> others) const;

private:
  std::vector<std::string> texts_; // patterns
  std::vector<InitSpec> specs_;    // of the patterns, then the one without
  std::optional<size_t> default_;
  NamePatterns patterns_;
};

} // namespace cleave::onnx_import

#endif
