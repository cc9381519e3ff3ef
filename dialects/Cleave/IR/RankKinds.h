// Kinds of ranks: ranks that will run the same program. The module's `cleave.kinds` lists them where there are several,
//
//   cleave.kinds = [{name = "server", where = {dp = array<i64: 0, 1>}},
//                   {name = "worker", where = {dp = array<i64: 1, 4>}}]
//
// each a box of the mesh: coordinates [begin, end) on the axes that it names, all of the others. Down to kernels form
// the module is one for all kinds; `split-kinds` makes a module of each, with `cleave.kind`, its entry of the list.
//
// In the module for all, values and states may have an *owner*, `#cleave.sharding<[[]], owner = ["dp"]>`: only the
// ranks at coordinate 0 of those axes have it. A broadcast makes it whole.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_RANKKINDS_H
#define CLEAVE_DIALECTS_CLEAVE_IR_RANKKINDS_H

#include "dialects/Cleave/IR/Cleave.h"

#include "llvm/ADT/DenseSet.h"

namespace cleave {

// One entry of the list; the entry is null where there is one kind only, which is everywhere.
class RankKind {
public:
  RankKind(mlir::DictionaryAttr entry, MeshAttr mesh) : entry(entry), mesh(mesh) {}
  // The kind of a module that split-kinds has left.
  static RankKind of(mlir::ModuleOp module);
  static mlir::DictionaryAttr makeEntry(mlir::MLIRContext *context, llvm::StringRef name,
                                        llvm::ArrayRef<std::tuple<llvm::StringRef, int64_t, int64_t>> where);

  mlir::StringAttr getName() const;
  mlir::DictionaryAttr getWhere() const;
  // The coordinates [begin, end) of its ranks.
  std::pair<int64_t, int64_t> getRange(llvm::StringRef axis) const;
  // Whether its ranks are at these coordinates of the axes; none where some are and some are not.
  std::optional<bool> isAt(llvm::ArrayRef<llvm::StringRef> axes, llvm::ArrayRef<int64_t> coordinates) const;
  // Whether its ranks have what is stored so.
  bool holds(ShardingAttr storage) const;

private:
  mlir::DictionaryAttr entry;
  MeshAttr mesh;
};

// The kinds of a module in which they are still one.
llvm::SmallVector<RankKind> kindsOf(mlir::ModuleOp module);

// The ops of a block that only owners run: those that depend on what a reduce leaves, or on a state with owners, unless
// it was broadcast since, and those that only such ops need.
llvm::DenseSet<mlir::Operation *> findOwnedOps(mlir::Block &block);

} // namespace cleave

#endif
