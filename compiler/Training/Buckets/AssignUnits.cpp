#include "compiler/Support/NamePatterns.h"
#include "compiler/Training/Buckets/ParameterUses.h"
#include "compiler/Training/Buckets/Units.h"
#include "compiler/Training/Diagnose.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/States.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/StepFunctions.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_ASSIGNUNITS
#include "compiler/Training/Passes.h.inc"

namespace {

class AssignUnitsPass : public impl::AssignUnitsBase<AssignUnitsPass> {
public:
  using AssignUnitsBase::AssignUnitsBase;

private:
  void runOnOperation() override {
    StringRef text = units;
    bool isPattern = text.consume_front("pattern=");
    if (!isPattern && text != "auto") {
      getOperation().emitError("assign-units: expected auto or pattern=P[|P...]; got: ") << text;
      return signalPassFailure();
    }
    SmallVector<StateOp> parameters;
    for (auto state : getOperation().getOps<StateOp>())
      if (state.getRole() == Role::Parameter)
        parameters.push_back(state);
    if (failed(isPattern ? assignByName(text, parameters) : assignByUse(parameters)))
      signalPassFailure();
  }

  LogicalResult assignByUse(ArrayRef<StateOp> parameters) {
    SmallVector<func::FuncOp> chunks;
    for (unsigned chunk : chunksOf(getOperation()))
      if (func::FuncOp joint = lookupFunction(getOperation(), chunkName(chunk)))
        chunks.push_back(joint);
    if (chunks.empty())
      return getOperation().emitError("expected a function @c0; differentiate makes it");
    ParameterUses uses(chunks);
    std::vector<UnitMember> members;
    for (StateOp state : parameters) {
      const ParameterUses::Span *span = uses.find(state.getSymName());
      members.push_back({byteSize(state.getTensorType()), span ? span->firstPosition : 0, span ? span->lastPosition : 0,
                         span ? span->order : 0});
    }
    for (auto [state, unit] : llvm::zip_equal(parameters, formUnits(members)))
      setUnit(state, unit);
    return success();
  }

  // Parameters that no pattern matches are resident.
  LogicalResult assignByName(StringRef text, ArrayRef<StateOp> parameters) {
    std::vector<std::string> texts, names;
    for (StringRef pattern : llvm::split(text, '|'))
      texts.push_back(pattern.str());
    auto patterns = orDiagnose(getOperation(), NamePatterns::parse("--fsdp-units", texts));
    if (failed(patterns))
      return failure();
    llvm::StringMap<int64_t> numbers;
    for (StateOp state : parameters) {
      std::vector<std::string> own = namesOf(onlySegment(state));
      std::string name = patterns->matchPrefix(own).str();
      llvm::append_range(names, own);
      auto next = static_cast<int64_t>(numbers.size()) + kResidentUnit + 1;
      setUnit(state, name.empty() ? kResidentUnit : numbers.try_emplace(name, next).first->second);
    }
    return diagnose(getOperation(), patterns->checkUsed(names, "parameters"));
  }

  void setUnit(StateOp state, int64_t unit) {
    state->setAttr(kUnitAttr, Builder(&getContext()).getI64IntegerAttr(unit));
  }
};
} // namespace
} // namespace cleave
