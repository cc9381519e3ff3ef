#include "compiler/Training/Passes.h"
#include "compiler/Training/States.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_ASSIGNUNITS
#include "compiler/Training/Passes.h.inc"

namespace {

constexpr int64_t kOuterUnit = 0;

// The components of `name` that `pattern` matches, or nothing: "blocks.*" of "blocks.0.fc.weight" is "blocks.0".
StringRef matchedPrefix(StringRef pattern, StringRef name) {
  StringRef rest = name;
  while (!pattern.empty()) {
    auto [wanted, more] = pattern.split('.');
    auto [found, behind] = rest.split('.');
    if (found.empty() || (wanted != "*" && wanted != found))
      return {};
    pattern = more;
    rest = behind;
  }
  return name.drop_back(rest.size()).rtrim('.');
}

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
    llvm::SmallVector<StringRef> patterns;
    if (!isAuto)
      text.split(patterns, '|');
    llvm::MapVector<StringRef, unsigned> matches;
    for (StringRef pattern : patterns)
      matches[pattern] = 0;
    for (auto state : getOperation().getOps<StateOp>())
      if (state.getRole() == Role::Parameter)
        setUnit(state, isAuto ? blockOf(state) : nameOf(state, matches));
    for (auto [pattern, count] : matches)
      if (count == 0) {
        getOperation().emitError("--fsdp-units: no parameter's name begins with '") << pattern << "'";
        return signalPassFailure();
      }
  }

  // Empty: the outer unit.
  std::string blockOf(StateOp state) {
    auto block = state->getAttrOfType<IntegerAttr>("cleave.block");
    return block && block.getInt() >= 0 ? std::to_string(block.getInt()) : std::string();
  }

  std::string nameOf(StateOp state, llvm::MapVector<StringRef, unsigned> &matches) {
    for (auto &[pattern, count] : matches)
      if (StringRef prefix = matchedPrefix(pattern, onlySegment(state).getName().getValue()); !prefix.empty()) {
        ++count;
        return prefix.str();
      }
    return {};
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
