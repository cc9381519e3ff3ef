#include "compiler/Codegen/Fusion/Passes.h"
#include "dialects/Cleave/IR/KernelText.h"

#include "llvm/ADT/StringMap.h"

namespace cleave {
#define GEN_PASS_DEF_NAMEKERNELS
#include "compiler/Codegen/Fusion/Passes.h.inc"
} // namespace cleave

using namespace mlir;
using namespace cleave;

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
