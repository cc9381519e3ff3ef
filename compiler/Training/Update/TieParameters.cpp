#include "compiler/Training/Diagnose.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/States.h"
#include "runtime/base/Assignment.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_TIEPARAMETERS
#include "compiler/Training/Passes.h.inc"

namespace {

class TieParametersPass : public impl::TieParametersBase<TieParametersPass> {
public:
  using TieParametersBase::TieParametersBase;

private:
  void runOnOperation() override {
    for (const std::string &pair : pairs) {
      std::string keptName, tiedName;
      rt::splitAssignment(pair, &keptName, &tiedName);
      if (keptName.empty() || tiedName.empty())
        return refuse(pair, "one name is missing");
      StateOp kept = findParameter(getOperation(), keptName), tied = findParameter(getOperation(), tiedName);
      if (!kept || !tied)
        return refuse(pair, "there is no parameter '" + (kept ? tiedName : keptName) + "'");
      if (kept == tied)
        return refuse(pair, "these are one parameter");
      if (kept.getTensorType() != tied.getTensorType() && !areTransposed(kept.getTensorType(), tied.getTensorType()))
        return refuse(pair, "their shapes, " + shapeText(kept) + " and " + shapeText(tied) +
                                ", are neither equal nor transposed");
      tie(kept, tied);
    }
  }

  static std::string shapeText(StateOp state) {
    std::string text;
    llvm::raw_string_ostream out(text);
    llvm::interleave(state.getTensorType().getShape(), out << "[", ", ");
    out << "]";
    return text;
  }

  void refuse(StringRef pair, const Twine &why) {
    (void)diagnose(getOperation(),
                   usageError("--tie", "expected two parameters' names, KEPT=TIED; got '" + pair + "': " + why));
    signalPassFailure();
  }

  void tie(StateOp kept, StateOp tied) {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (ReadOp read : llvm::make_early_inc_range(function.getBody().front().getOps<ReadOp>()))
        if (read.getState() == tied.getSymName())
          redirect(read, kept);
    auto segment = onlySegment(kept);
    MLIRContext *context = &getContext();
    SmallVector<Attribute> aliases;
    if (segment.getAliases())
      llvm::append_range(aliases, segment.getAliases());
    for (const std::string &name : namesOf(onlySegment(tied)))
      aliases.push_back(StringAttr::get(context, name));
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
