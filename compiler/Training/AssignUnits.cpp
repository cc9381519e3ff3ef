#include "compiler/Support/NamePatterns.h"
#include "compiler/Training/Diagnose.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/States.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_ASSIGNUNITS
#include "compiler/Training/Passes.h.inc"

namespace {

constexpr int64_t kOuterUnit = 0;

class AssignUnitsPass : public impl::AssignUnitsBase<AssignUnitsPass> {
public:
  using AssignUnitsBase::AssignUnitsBase;

private:
  void runOnOperation() override {
    StringRef text = units;
    bool isAuto = text == "auto";
    if (!isAuto && !text.consume_front("pattern=")) {
      getOperation().emitError("assign-units: expected auto or pattern=P[|P...]; got: ") << text;
      return signalPassFailure();
    }
    std::vector<std::string> texts, names;
    for (StringRef pattern : llvm::split(text, '|'))
      if (!isAuto)
        texts.push_back(pattern.str());
    auto patterns = orDiagnose(getOperation(), NamePatterns::parse("--fsdp-units", texts));
    if (failed(patterns))
      return signalPassFailure();
    for (auto state : getOperation().getOps<StateOp>()) {
      if (state.getRole() != Role::Parameter)
        continue;
      names.push_back(onlySegment(state).getName().getValue().str());
      setUnit(state, isAuto ? blockOf(state) : patterns->matchPrefix(names.back()).str());
    }
    if (failed(diagnose(getOperation(), patterns->checkUsed(names, "parameters"))))
      return signalPassFailure();
  }

  // Empty: the outer unit.
  std::string blockOf(StateOp state) {
    auto block = state->getAttrOfType<IntegerAttr>("cleave.block");
    return block && block.getInt() >= 0 ? std::to_string(block.getInt()) : std::string();
  }

  void setUnit(StateOp state, const std::string &name) {
    auto next = static_cast<int64_t>(numbers.size()) + kOuterUnit + 1;
    int64_t unit = name.empty() ? kOuterUnit : numbers.try_emplace(name, next).first->second;
    state->setAttr(kUnitAttr, Builder(&getContext()).getI64IntegerAttr(unit));
  }

  llvm::StringMap<int64_t> numbers;
};
} // namespace
} // namespace cleave
