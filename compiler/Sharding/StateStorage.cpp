#include "compiler/Sharding/StateStorage.h"

#include "runtime/base/NearestName.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace cleave;
using mlir::Attribute;

static constexpr llvm::StringLiteral kShardAxis = "fsdp";

// Indexed by FsdpStrategy.
static constexpr llvm::StringLiteral kStrategies[] = {"no-shard", "zero-1", "zero-2", "shard-grad-op", "full-shard"};

llvm::StringRef cleave::printFsdpStrategy(FsdpStrategy strategy) { return kStrategies[static_cast<int>(strategy)]; }
llvm::StringRef cleave::printGradSync(GradSync sync) { return sync == GradSync::Every ? "every" : "last"; }

llvm::Expected<FsdpStrategy> cleave::parseFsdpStrategy(llvm::StringRef text) {
  if (text == "zero-3")
    return FsdpStrategy::FullShard;
  if (auto found = llvm::find(kStrategies, text); found != std::end(kStrategies))
    return static_cast<FsdpStrategy>(found - std::begin(kStrategies));
  std::string name = text.lower(); // PyTorch's FULL_SHARD
  std::replace(name.begin(), name.end(), '_', '-');
  if (name == "hybrid-shard")
    return llvm::createStringError(
        "PyTorch's HYBRID_SHARD is full-shard on two axes: --mesh dp=M,fsdp=N for M groups of "
        "N ranks; got: " +
        text);
  std::vector<std::string> names{"full-shard", "shard-grad-op", "zero-1", "zero-2", "zero-3", "no-shard"};
  return llvm::createStringError("expected " + rt::joinChoices(names) + "; got: " + text + rt::didYouMean(name, names));
}

llvm::Expected<GradSync> cleave::parseGradSync(llvm::StringRef text, FsdpStrategy strategy) {
  if (text.empty())
    return splitsGradients(strategy) ? GradSync::Every : GradSync::Last;
  if (text == "last")
    return GradSync::Last;
  if (text == "every")
    return GradSync::Every;
  return llvm::createStringError(rt::expectedOneOf(text, {"every", "last"}));
}

llvm::StringRef cleave::printDpSync(DpSync sync) {
  return sync == DpSync::AllReduce ? "all-reduce" : "parameter-server";
}

llvm::Expected<DpSync> cleave::parseDpSync(llvm::StringRef text) {
  for (DpSync sync : {DpSync::AllReduce, DpSync::ParameterServer})
    if (text == printDpSync(sync))
      return sync;
  return llvm::createStringError(rt::expectedOneOf(text, {"all-reduce", "parameter-server"}));
}

ShardingAttr cleave::ownedStorage(mlir::RankedTensorType type, llvm::ArrayRef<Attribute> axes) {
  auto whole = ShardingAttr::replicated(type.getContext(), type.getRank());
  return ShardingAttr::get(whole.getDims(), /*partial=*/{}, ReduceKind::Sum, axes);
}

static bool hasOwner(Role role, const StatePolicy &policy) {
  bool isReduced = role == Role::Gradient && policy.gradSync == GradSync::Every;
  return policy.dpSync == DpSync::ParameterServer && (role == Role::Optimizer || isReduced);
}

static bool isSplit(Role role, const StatePolicy &policy) {
  switch (role) {
  case Role::Parameter:
    return splitsParameters(policy.strategy);
  case Role::Optimizer:
    return splitsOptimizer(policy.strategy);
  case Role::Gradient: // a sum that waits for the last micro-batch is the rank's own, and whole
    return splitsGradients(policy.strategy) && policy.gradSync == GradSync::Every;
  default:
    return false;
  }
}

ShardingAttr cleave::wantedStorage(StateOp state, MeshAttr mesh, const StatePolicy &policy,
                                   llvm::ArrayRef<Attribute> dataAxes) {
  mlir::Builder builder(state.getContext());
  mlir::RankedTensorType type = state.getTensorType();
  if (hasOwner(state.getRole(), policy))
    return ownedStorage(type, dataAxes);
  int64_t parts = mesh.getSize(kShardAxis);
  bool isShared = isSplit(state.getRole(), policy) && parts > 1 && type.getRank() > 0 && type.getDimSize(0) > 0 &&
                  type.getDimSize(0) % parts == 0;
  llvm::SmallVector<Attribute> dims(type.getRank(), builder.getArrayAttr({}));
  if (isShared)
    dims[0] = builder.getStrArrayAttr({kShardAxis});

  llvm::SmallVector<Attribute> partial;
  if (state.getRole() == Role::Gradient && (policy.gradSync == GradSync::Last || isShared))
    for (Attribute axis : dataAxes)
      if (!isShared || llvm::cast<mlir::StringAttr>(axis).getValue() != kShardAxis)
        partial.push_back(axis);
  return ShardingAttr::get(builder.getArrayAttr(dims), partial);
}
