// Kinds of ranks: ranks that will run the same program. If there are several, the module's `cleave.kinds` lists them:
//
//   cleave.kinds = [{name = "server", where = {dp = array<i64: 0, 1>}},
//                   {name = "worker", where = {dp = array<i64: 1, 4>}}]
//
// Each kind is a box of the mesh: coordinates [begin, end) on the axes that it names, and all coordinates of the
// others. Down to kernels form, one module serves all kinds. Then `split-kinds` makes a module of each kind, with
// `cleave.kind`, its entry of the list.
//
// In the module for all kinds, values and states may have an *owner*, `#cleave.sharding<[[]], owner = ["dp"]>`: only
// the ranks at coordinate 0 of these axes have the value. A broadcast makes it whole.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_RANKKINDS_H
#define CLEAVE_DIALECTS_CLEAVE_IR_RANKKINDS_H

#include "dialects/Cleave/IR/Cleave.h"

#include "llvm/ADT/DenseSet.h"

namespace cleave {

// One entry of the list. The entry is null if there is only one kind, which has all ranks.
class RankKind {
public:
  RankKind(mlir::DictionaryAttr entry, MeshAttr mesh) : entry(entry), mesh(mesh) {}
  // Returns the kind of a module after split-kinds.
  static RankKind of(mlir::ModuleOp module);
  static mlir::DictionaryAttr makeEntry(mlir::MLIRContext *context, llvm::StringRef name,
                                        llvm::ArrayRef<std::tuple<llvm::StringRef, int64_t, int64_t>> where);

  mlir::StringAttr getName() const;
  mlir::DictionaryAttr getWhere() const;
  // Returns the coordinates [begin, end) of its ranks.
  std::pair<int64_t, int64_t> getRange(llvm::StringRef axis) const;
  // Returns whether its ranks are at these coordinates of the axes; none if only some of them are.
  std::optional<bool> isAt(llvm::ArrayRef<llvm::StringRef> axes, llvm::ArrayRef<int64_t> coordinates) const;
  // True if its ranks have a value that is stored in this way.
  bool holds(ShardingAttr storage) const;

private:
  mlir::DictionaryAttr entry;
  MeshAttr mesh;
};

// Returns the kinds of a module that still serves all of them.
llvm::SmallVector<RankKind> kindsOf(mlir::ModuleOp module);

// Returns the ops of a block that only owners run: those that depend on the result of a reduce, or on a state with
// owners, unless it was broadcast since; and those that only such ops need. All ranks compute the operand of a reduce.
llvm::DenseSet<mlir::Operation *> findOwnedOps(mlir::Block &block);

} // namespace cleave

#endif
