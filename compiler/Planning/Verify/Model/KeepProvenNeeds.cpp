#include "compiler/Planning/Build/PlanWriter.h"
#include "compiler/Planning/Passes.h"
#include "compiler/Planning/Verify/Rules/StatedNeeds.h"
#include "dialects/Plan/IR/Plan.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/Properties.h"
#include "runtime/plan/RankKinds.h"

using namespace mlir;

namespace cleave::plan {

#define GEN_PASS_DEF_KEEPPROVENNEEDS
#include "compiler/Planning/Passes.h.inc"

namespace {

struct KeepProvenNeeds : impl::KeepProvenNeedsBase<KeepProvenNeeds> {
  void runOnOperation() override {
    llvm::SmallVector<HeaderOp> headers; // of all kinds of ranks
    bool doStateNeeds = false;
    getOperation().walk([&](HeaderOp header) {
      headers.push_back(header);
      if (DictionaryAttr properties = header.getOptionsAttr())
        doStateNeeds |= llvm::any_of(properties, [](NamedAttribute property) {
          return property.getName().strref().starts_with(rt::kNeedsProperties.of(""));
        });
    });
    if (!doStateNeeds)
      return;
    llvm::Expected<std::string> bytes = writePlan(getOperation());
    const rt::fb::Plan *plan = nullptr;
    if (!bytes || !rt::openPlan(bytes->data(), bytes->size(), &plan).isOk())
      return llvm::consumeError(bytes.takeError()); // verify-plan says why
    for (const auto &[property, why] : findUnprovenNeeds(rt::kindsOf(*plan)))
      for (HeaderOp header : headers)
        drop(header, property);
  }

private:
  static void drop(HeaderOp header, StringRef property) {
    NamedAttrList properties(header.getOptionsAttr());
    properties.erase(property);
    header.setOptionsAttr(properties.getDictionary(header.getContext()));
  }
};

} // namespace
} // namespace cleave::plan
