#include "compiler/Codegen/Loops/GraphFacts.h"

#include "compiler/Support/WireType.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace cleave;
namespace fb = cleave::rt::fb;

static fb::Operand operandOf(Value tensor, fb::Access access, int64_t tie) {
  auto type = cast<RankedTensorType>(tensor.getType());
  fb::DType dtype = wireType(type.getElementType()).value_or(fb::DType::u8); // no plan has such a kernel
  uint64_t width = std::max(1u, type.getElementTypeBitWidth() / 8);
  return {static_cast<uint64_t>(type.getNumElements()) * width, static_cast<uint16_t>(tie + 1), access, dtype};
}

// Returns a mask for each result. Bit i is set if input i reaches the result through operands, including those that a
// loop's body reads.
static std::vector<uint64_t> dependencesOf(const KernelGraph &graph) {
  llvm::DenseMap<Value, uint64_t> masks;
  for (auto [index, input] : llvm::enumerate(graph.getInputs()))
    masks[input] = index < 64 ? uint64_t{1} << index : 0;
  for (Operation &op : graph.getFunction().getBody().front().without_terminator()) {
    uint64_t mask = 0;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        mask |= masks.lookup(operand);
    });
    for (Value result : op.getResults())
      masks[result] = mask;
  }
  std::vector<uint64_t> depends;
  for (Value result : graph.getResults())
    depends.push_back(masks.lookup(result));
  return depends;
}

rt::KernelFacts cleave::factsOf(const KernelGraph &graph, const IsolatedKernel &kernel, int64_t extent) {
  rt::KernelFacts facts;
  facts.name = kernel.label;
  facts.code = kernel.code;
  facts.extent = static_cast<uint64_t>(extent);
  facts.depends = dependencesOf(graph);
  for (Value input : graph.getInputs())
    facts.operands.push_back(operandOf(input, fb::Access::read, -1));
  for (auto [result, tie] : llvm::zip(graph.getResults(), graph.getTies()))
    facts.operands.push_back(operandOf(result, fb::Access::write, tie));
  return facts;
}

std::string cleave::disagreement(const rt::KernelFacts &code, const rt::KernelFacts &told) {
  if (code.code != told.code)
    return "another body than the kernel for which the plan was made";
  if (code.extent != told.extent)
    return "an extent of " + std::to_string(code.extent) + "; the plan says " + std::to_string(told.extent);
  auto isSame = [](const fb::Operand &a, const fb::Operand &b) {
    return a.bytes() == b.bytes() && a.over() == b.over() && a.access() == b.access() && a.dtype() == b.dtype();
  };
  if (code.operands.size() != told.operands.size() ||
      !std::equal(code.operands.begin(), code.operands.end(), told.operands.begin(), isSame))
    return "other operands than the plan says";
  if (!told.depends.empty() && told.depends.size() != code.depends.size())
    return std::to_string(code.depends.size()) + " results; the plan says " + std::to_string(told.depends.size());
  for (size_t i = 0; i < told.depends.size(); ++i)
    if ((code.depends[i] & ~told.depends[i]) != 0)
      return "a result " + std::to_string(i) + " that depends on more inputs than the plan says";
  return "";
}
