// How each kind of state is stored over the `fsdp` axis. This implements all of ZeRO.
//
// A strategy is three answers, one for each kind of state. Gathers and reduce-scatters then follow from the difference
// between the stored and the used form (Propagation.h). After Rajbhandari et al., "ZeRO: Memory Optimizations Toward
// Training Trillion Parameter Models" (2020), and Zhao et al., "PyTorch FSDP" (2023):
//
//   strategy        parameters  gradients  optimizer   gathered parameters
//   no-shard        whole       whole      whole       none (DDP)
//   zero-1          whole       partial    split       none: the updated parameters are gathered once
//   zero-2          whole       split      split       none, as zero-1
//   shard-grad-op   split       split      split       kept from forward to backward
//   full-shard      split       split      split       freed after each use; zero-3 is another name
//
// `partial` gradients are each rank's own sum, and have the size of the whole. They are reduced once, when the update
// reads them. With `--grad-sync every` they are reduced in every micro-batch instead, and stored reduced. On `dp` x
// `fsdp`, this applies to `fsdp` only, the axis that splits them. A shard of a group's own sum takes the same memory as
// a reduced shard, so the groups reduce it once (in PyTorch: set_requires_all_reduce).
//
// A parameter server is one more storage (`--dp-sync parameter-server`). Optimizer states have an owner, the ranks at
// coordinate 0 of the data axes. Parameters stay whole, but are made by the owner. Partial gradients are then reduced
// to the owner, and new parameters are broadcast. The owners and the others are kinds of ranks
// (dialects/Cleave/IR/RankKinds.h).
//
//   sync              parameters              gradients                     optimizer
//   all-reduce        whole, made everywhere  partial (reduced: whole)      whole
//   parameter-server  whole, made by owners   partial (reduced: owner's)    owner's
//
// Rejected: a pass for each strategy that inserts its collectives. It would have to know what autodiff, accumulation
// and buckets do, and hybrid forms (`dp` x `fsdp`) would need further passes.
#ifndef CLEAVE_COMPILER_SHARDING_STATESTORAGE_H
#define CLEAVE_COMPILER_SHARDING_STATESTORAGE_H

#include "dialects/Cleave/IR/Cleave.h"

#include "llvm/Support/Error.h"

namespace cleave {

enum class FsdpStrategy { NoShard, Zero1, Zero2, ShardGradOp, FullShard };
enum class GradSync { Last, Every };
enum class DpSync { AllReduce, ParameterServer };

struct StatePolicy {
  FsdpStrategy strategy = FsdpStrategy::FullShard;
  GradSync gradSync = GradSync::Every;
  DpSync dpSync = DpSync::AllReduce;
};

// Parses "full-shard" (or "zero-3"), "shard-grad-op", "zero-1", "zero-2", "no-shard".
llvm::Expected<FsdpStrategy> parseFsdpStrategy(llvm::StringRef text);
// Parses "last" or "every". An empty text means "every" if gradients are stored split, and "last" otherwise.
llvm::Expected<GradSync> parseGradSync(llvm::StringRef text, FsdpStrategy strategy);

// Parses "all-reduce" or "parameter-server".
llvm::Expected<DpSync> parseDpSync(llvm::StringRef text);

llvm::StringRef printFsdpStrategy(FsdpStrategy strategy);
llvm::StringRef printGradSync(GradSync sync);
llvm::StringRef printDpSync(DpSync sync);

inline bool splitsParameters(FsdpStrategy s) { return s >= FsdpStrategy::ShardGradOp; }
inline bool splitsGradients(FsdpStrategy s) { return s >= FsdpStrategy::Zero2; }
inline bool splitsOptimizer(FsdpStrategy s) { return s >= FsdpStrategy::Zero1; }

// Returns the storage that the policy wants for a state. Dimension 0 is split over `fsdp` if the strategy says so and
// the ranks can share it evenly (buckets are padded so that they can). Gradients are partial over those of `dataAxes`
// that nothing has reduced yet. With a parameter server, optimizer states and reduced gradients have owners over
// `dataAxes`. Every other state is whole.
ShardingAttr wantedStorage(StateOp state, MeshAttr mesh, const StatePolicy &policy,
                           llvm::ArrayRef<mlir::Attribute> dataAxes);
// Returns the sharding of a value that is whole on the owners over `axes`.
ShardingAttr ownedStorage(mlir::RankedTensorType type, llvm::ArrayRef<mlir::Attribute> axes);

} // namespace cleave

#endif
