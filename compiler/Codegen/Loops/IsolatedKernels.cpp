#include "compiler/Codegen/Loops/IsolatedKernels.h"

#include "dialects/Cleave/IR/KernelText.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace cleave;

// Returns the text of a module with the kernel alone. Its inputs are the arguments of a function around it.
static std::string isolate(KernelOp kernel) {
  OpBuilder builder(kernel.getContext());
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto type = builder.getFunctionType(kernel.getInputs().getTypes(), {});
  auto function = func::FuncOp::create(builder, kernel.getLoc(), "kernel", type);
  builder.setInsertionPointToEnd(function.addEntryBlock());
  IRMapping mapping;
  for (auto [input, argument] : llvm::zip(kernel.getInputs(), function.getArguments()))
    mapping.map(input, argument);
  dropMarks(cast<KernelOp>(builder.clone(*kernel, mapping))); // equal kernels of two models are equal texts
  func::ReturnOp::create(builder, kernel.getLoc());
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, OpPrintingFlags().useLocalScope());
  return text;
}

std::vector<IsolatedKernel> cleave::isolateKernels(ModuleOp module) {
  std::vector<IsolatedKernel> kernels;
  llvm::StringSet<> seen;
  unsigned position = 0;
  module.walk([&](KernelOp kernel) {
    std::string label = kernel.getLabel() ? kernel.getLabel()->str() : "k" + std::to_string(position);
    ++position;
    if (seen.insert(label).second)
      kernels.push_back({label, codeOf(kernel), isolate(kernel)});
  });
  return kernels;
}

ParsedKernel cleave::parseKernel(StringRef text, MLIRContext &context) {
  ParsedKernel parsed;
  parsed.module = parseSourceString<ModuleOp>(text, &context);
  if (parsed.module)
    parsed.module->walk([&](KernelOp op) { parsed.kernel = op; });
  return parsed;
}
