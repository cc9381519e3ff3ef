#include "compiler/Training/Passes.h"
#include "compiler/Training/States.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_TIEPARAMETERS
#include "compiler/Training/Passes.h.inc"

namespace {

StateOp findParameter(ModuleOp module, StringRef originalName) {
  for (auto state : module.getOps<StateOp>())
    if (state.getRole() == Role::Parameter && state.getSegments().size() == 1 &&
        onlySegment(state).getName() == originalName)
      return state;
  return nullptr;
}

class TieParametersPass : public impl::TieParametersBase<TieParametersPass> {
public:
  using TieParametersBase::TieParametersBase;

private:
  void runOnOperation() override {
    for (const std::string &pair : pairs) {
      auto [keptName, tiedName] = StringRef(pair).split('=');
      StateOp kept = findParameter(getOperation(), keptName), tied = findParameter(getOperation(), tiedName);
      if (!kept || !tied || kept == tied) {
        auto error = getOperation().emitError("cannot tie '")
                     << pair << "': expected two parameters' names, KEPT=TIED; ";
        if (kept && tied)
          error << "these are one parameter";
        else
          error << "there is no '" << (kept ? tiedName : keptName) << "' to use";
        return signalPassFailure();
      }
      if (kept.getTensorType() != tied.getTensorType() && !areTransposed(kept.getTensorType(), tied.getTensorType())) {
        tied.emitError("tied parameters have equal or transposed shapes; got: ")
            << kept.getTensorType() << " and " << tied.getTensorType();
        return signalPassFailure();
      }
      tie(kept, tied);
    }
  }

  void tie(StateOp kept, StateOp tied) {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (ReadOp read : llvm::make_early_inc_range(function.getBody().front().getOps<ReadOp>()))
        if (read.getState() == tied.getSymName())
          redirect(read, kept);
    auto segment = onlySegment(kept);
    SmallVector<Attribute> aliases;
    if (segment.getAliases())
      llvm::append_range(aliases, segment.getAliases());
    aliases.push_back(onlySegment(tied).getName());
    MLIRContext *context = &getContext();
    auto joined = SegmentAttr::get(context, segment.getName(), segment.getType(), segment.getOffset(),
                                   segment.getGroup(), segment.getInit(), ArrayAttr::get(context, aliases));
    kept.setSegmentsAttr(ArrayAttr::get(context, {joined}));
    tied.erase();
  }

  void redirect(ReadOp read, StateOp kept) {
    OpBuilder builder(read);
    Value value = readState(builder, read.getLoc(), kept);
    if (value.getType() != read.getResult().getType())
      value = TransposeOp::create(builder, read.getLoc(), value, ArrayRef<int64_t>{1, 0});
    read.replaceAllUsesWith(value);
    read.erase();
  }
};
} // namespace
} // namespace cleave
