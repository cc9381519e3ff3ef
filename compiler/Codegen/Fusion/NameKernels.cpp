#include "compiler/Codegen/Fusion/Passes.h"
#include "dialects/Cleave/IR/BlockMarks.h"

#include "llvm/ADT/StringMap.h"

namespace cleave {
#define GEN_PASS_DEF_NAMEKERNELS
#include "compiler/Codegen/Fusion/Passes.h.inc"
} // namespace cleave

using namespace mlir;
using namespace cleave;

// Returns the text of the kernel by itself. Its body is isolated, so values are numbered from its own start, and inputs
// have no names.
static std::string textOf(KernelOp kernel) {
  kernel.removeLabelAttr();
  std::optional<int64_t> block = getBlockMark(kernel);
  setBlockMark(kernel, std::nullopt); // the block is not a part of what the kernel does
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel->print(stream, OpPrintingFlags().useLocalScope());
  setBlockMark(kernel, block);
  return text;
}

namespace {
struct NameKernels : cleave::impl::NameKernelsBase<NameKernels> {
  void runOnOperation() override {
    llvm::StringMap<StringAttr> labels;
    getOperation().walk([&](KernelOp kernel) {
      auto [entry, inserted] = labels.try_emplace(textOf(kernel));
      if (inserted)
        entry->second = StringAttr::get(&getContext(), "k" + std::to_string(labels.size() - 1));
      kernel.setLabelAttr(entry->second);
    });
  }
};
} // namespace
