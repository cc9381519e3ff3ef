#include "compiler/Support/NamePatterns.h"
#include "compiler/Training/Diagnose.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/States.h"
#include "compiler/Training/TrainingOptions.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_ASSIGNPARAMETERGROUPS
#include "compiler/Training/Passes.h.inc"

namespace {
class AssignParameterGroupsPass : public impl::AssignParameterGroupsBase<AssignParameterGroupsPass> {
public:
  using AssignParameterGroupsBase::AssignParameterGroupsBase;

private:
  void runOnOperation() override {
    for (auto state : getOperation().getOps<StateOp>())
      if (state.getRole() == Role::Parameter && state.getSegments().size() == 1)
        parameters.push_back(state);
    std::vector<ParamGroupOptions> parsed;
    for (StringRef text : llvm::split(StringRef(groups), ';')) {
      if (text.empty())
        continue;
      auto group = orDiagnose(getOperation(), parseParamGroup(text));
      if (failed(group))
        return signalPassFailure();
      parsed.push_back(*group);
    }
    if (failed(applyFreeze()) || failed(applyGroups(parsed)))
      return signalPassFailure();
    setTable(parsed);
    parameters.clear();
  }

  // Returns the parameters that the pattern matches. It is an error if there are none.
  FailureOr<SmallVector<StateOp>> match(StringRef pattern, StringRef option) {
    auto patterns = orDiagnose(getOperation(), NamePatterns::parse(option, pattern.str()));
    if (failed(patterns))
      return failure();
    SmallVector<StateOp> matched;
    std::vector<std::string> names;
    for (StateOp state : parameters) {
      std::vector<std::string> own = namesOf(onlySegment(state));
      llvm::append_range(names, own);
      if (patterns->match(own))
        matched.push_back(state);
    }
    if (failed(diagnose(getOperation(), patterns->checkUsed(names, "parameters"))))
      return failure();
    return matched;
  }

  LogicalResult applyFreeze() {
    for (const std::string &pattern : freeze) {
      auto matched = match(pattern, "--freeze");
      if (failed(matched))
        return failure();
      for (StateOp state : *matched)
        state.setFrozen(true);
    }
    return success();
  }

  // In reverse order, so that the first group that matches wins.
  LogicalResult applyGroups(const std::vector<ParamGroupOptions> &parsed) {
    for (size_t i = parsed.size(); i-- > 0;)
      for (const std::string &pattern : parsed[i].patterns) {
        auto matched = match(pattern, "--param-group");
        if (failed(matched))
          return failure();
        for (StateOp state : *matched)
          setGroup(state, static_cast<int64_t>(i) + 1);
      }
    return checkEffect(parsed);
  }

  // Reports a group that changes nothing, because earlier groups have all its parameters, or because none of them is
  // trained.
  LogicalResult checkEffect(const std::vector<ParamGroupOptions> &parsed) {
    for (size_t i = 0; i < parsed.size(); ++i) {
      auto isMember = [&](StateOp state) { return onlySegment(state).getGroup() == int64_t(i) + 1; };
      auto isTrained = [&](StateOp state) { return isMember(state) && !state.getFrozen(); };
      if (llvm::any_of(parameters, isTrained))
        continue;
      StringRef reason = llvm::any_of(parameters, isMember)
                             ? "--freeze keeps all its parameters as they are; leave one of the two out"
                             : "earlier groups already match all its parameters; move this one before them";
      return diagnose(getOperation(), usageError("--param-group", "'" + llvm::join(parsed[i].patterns, "|") +
                                                                      "' has no effect: " + reason));
    }
    return success();
  }

  void setGroup(StateOp state, int64_t group) {
    SegmentAttr old = onlySegment(state);
    auto segment = SegmentAttr::get(&getContext(), old.getName(), old.getType(), old.getOffset(), group, old.getInit(),
                                    old.getAliases());
    state.setSegmentsAttr(ArrayAttr::get(&getContext(), {segment}));
  }

  void setTable(const std::vector<ParamGroupOptions> &parsed) {
    Builder builder(&getContext());
    auto row = [&](StringRef name, double lrScale, std::optional<double> weightDecay) {
      NamedAttrList entries;
      entries.append("name", builder.getStringAttr(name));
      entries.append("lr_scale", builder.getF64FloatAttr(lrScale));
      if (weightDecay)
        entries.append("weight_decay", builder.getF64FloatAttr(*weightDecay));
      return entries.getDictionary(&getContext());
    };
    SmallVector<Attribute> table = {row("default", 1, std::nullopt)};
    for (const ParamGroupOptions &group : parsed)
      table.push_back(row(llvm::join(group.patterns, "|"), group.lrScale, group.weightDecay));
    getOperation()->setAttr(kParamGroupsAttr, builder.getArrayAttr(table));
  }

  SmallVector<StateOp> parameters;
};
} // namespace
} // namespace cleave
