#include "dialects/Cleave/IR/RankKinds.h"

#include "dialects/Cleave/IR/Attributes.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace cleave;
using llvm::ArrayRef;
using llvm::StringRef;

RankKind RankKind::of(mlir::ModuleOp module) {
  return {module->getAttrOfType<mlir::DictionaryAttr>(kKindAttr), module->getAttrOfType<MeshAttr>(kMeshAttr)};
}

mlir::DictionaryAttr RankKind::makeEntry(mlir::MLIRContext *context, StringRef name,
                                         ArrayRef<std::tuple<StringRef, int64_t, int64_t>> where) {
  mlir::Builder builder(context);
  llvm::SmallVector<mlir::NamedAttribute> ranges;
  for (auto [axis, begin, end] : where)
    ranges.push_back(builder.getNamedAttr(axis, builder.getDenseI64ArrayAttr({begin, end})));
  return builder.getDictionaryAttr({builder.getNamedAttr("name", builder.getStringAttr(name)),
                                    builder.getNamedAttr("where", builder.getDictionaryAttr(ranges))});
}

mlir::StringAttr RankKind::getName() const {
  return entry ? entry.getAs<mlir::StringAttr>("name") : mlir::StringAttr();
}
mlir::DictionaryAttr RankKind::getWhere() const {
  return entry ? entry.getAs<mlir::DictionaryAttr>("where") : mlir::DictionaryAttr();
}

std::pair<int64_t, int64_t> RankKind::getRange(StringRef axis) const {
  mlir::DictionaryAttr where = getWhere();
  auto range = where ? where.getAs<mlir::DenseI64ArrayAttr>(axis) : mlir::DenseI64ArrayAttr();
  if (range && range.size() == 2)
    return {range[0], range[1]};
  return {0, mesh ? mesh.getSize(axis) : 1};
}

std::optional<bool> RankKind::isAt(ArrayRef<StringRef> axes, ArrayRef<int64_t> coordinates) const {
  bool isThere = true;
  for (auto [axis, coordinate] : llvm::zip_equal(axes, coordinates)) {
    auto [begin, end] = getRange(axis);
    if (coordinate < begin || coordinate >= end)
      return false;
    isThere &= end - begin == 1;
  }
  return isThere ? std::optional(true) : std::nullopt;
}

bool RankKind::holds(ShardingAttr storage) const {
  if (!storage)
    return true;
  llvm::SmallVector<StringRef> axes = storage.getOwnerAxes();
  return isAt(axes, llvm::SmallVector<int64_t>(axes.size(), 0)).value_or(true);
}

llvm::SmallVector<RankKind> cleave::kindsOf(mlir::ModuleOp module) {
  llvm::SmallVector<RankKind> kinds;
  auto mesh = module->getAttrOfType<MeshAttr>(kMeshAttr);
  if (auto entries = module->getAttrOfType<mlir::ArrayAttr>(kKindsAttr))
    for (auto entry : entries.getAsRange<mlir::DictionaryAttr>())
      kinds.emplace_back(entry, mesh);
  return kinds;
}

static bool isOwnedState(ReadOp read, mlir::SymbolTableCollection &symbols) {
  auto state = symbols.lookupNearestSymbolFrom<StateOp>(read, read.getStateAttr());
  return state && state.getStorageAttr() && state.getStorageAttr().isOwned();
}

llvm::DenseSet<mlir::Operation *> cleave::findOwnedOps(mlir::Block &block) {
  llvm::DenseSet<mlir::Operation *> owned;
  mlir::SymbolTableCollection symbols;
  for (mlir::Operation &op : block) {
    auto read = llvm::dyn_cast<ReadOp>(op);
    bool begins = llvm::isa<mlir::shard::ReduceOp>(op) || (read && isOwnedState(read, symbols));
    bool goesOn = llvm::any_of(op.getOperands(), [&](mlir::Value operand) {
      return operand.getDefiningOp() && owned.contains(operand.getDefiningOp());
    });
    if (begins || (goesOn && !llvm::isa<mlir::shard::BroadcastOp>(op)))
      owned.insert(&op);
  }
  // All ranks give their terms to a reduce, though only owners get its result.
  auto isForOwners = [&](mlir::Operation *user) {
    return owned.contains(user) && !llvm::isa<mlir::shard::ReduceOp>(user);
  };
  for (mlir::Operation &op : llvm::reverse(block)) {
    bool isFree = !op.use_empty() && !llvm::isa<ReadOp>(op) && !llvm::isa<mlir::shard::ShardDialect>(op.getDialect());
    if (isFree && llvm::all_of(op.getUsers(), isForOwners))
      owned.insert(&op);
  }
  return owned;
}
