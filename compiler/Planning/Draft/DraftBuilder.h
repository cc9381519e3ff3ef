// A function in kernels form becomes a draft: values become byte ranges, ops become steps in program order.
#ifndef CLEAVE_COMPILER_PLANNING_DRAFT_DRAFTBUILDER_H
#define CLEAVE_COMPILER_PLANNING_DRAFT_DRAFTBUILDER_H

#include "compiler/Planning/Build/ModulePlan.h"
#include "compiler/Planning/Draft/Prefetch.h"
#include "compiler/Planning/Draft/ValueFamilies.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

namespace cleave::plan {

// What a step's payload refers to: the instruction without its buffers, stream and event.
struct InstructionDraft {
  std::string mnemonic;
  mlir::NamedAttrList fields;
  std::string note;
};

struct PortDraft {
  bool isInput;
  std::string name;
  mlir::Type type;
  uint64_t offset;
  int64_t batchDim;
  mlir::ArrayAttr splitAxes; // null: none
  bool isAbsent = false;     // other kinds of ranks have it
};

struct ProgramDraft {
  std::string name;
  bool entry = false;
  bool isTransfer = false; // a send or a receive alone, which only events of the plan order
  std::vector<PortDraft> ports;
  RootTable roots;
  std::vector<Step> steps;
  std::vector<InstructionDraft> instructions;
  std::vector<Gather> gathers;
  std::vector<mlir::FlatSymbolRefAttr> groups; // by Share::group - 1
  std::vector<unsigned> gathered, unreduced;   // roots that gathers fill, and that reductions are about
  std::vector<unsigned> staged;                // roots that copies from host memory fill
  std::map<std::string, uint64_t> peaks;       // kind -> transient bytes
  unsigned events = 0;
};

class DraftBuilder {
public:
  DraftBuilder(ModulePlan &plan, mlir::func::FuncOp function);
  mlir::FailureOr<ProgramDraft> build();

private:
  // Ops.
  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult visitRead(ReadOp read);
  mlir::LogicalResult visitWrite(WriteOp write);
  mlir::LogicalResult visitViews(mlir::Operation *op, llvm::ArrayRef<ByteView> views);
  mlir::LogicalResult visitJoined(mlir::Operation *op, llvm::ArrayRef<ByteView> views);
  mlir::LogicalResult visitKernel(cleave::KernelOp kernel);
  mlir::LogicalResult visitLibrary(mlir::Operation *op);
  mlir::LogicalResult visitAllReduce(mlir::shard::AllReduceOp op);
  mlir::LogicalResult visitReduceScatter(mlir::shard::ReduceScatterOp op);
  mlir::LogicalResult visitAllGather(mlir::shard::AllGatherOp op);
  mlir::LogicalResult visitAllSlice(mlir::shard::AllSliceOp op);
  mlir::LogicalResult visitReduce(mlir::shard::ReduceOp op);
  mlir::LogicalResult visitBroadcast(mlir::shard::BroadcastOp op);
  mlir::LogicalResult visitReturn(mlir::func::ReturnOp op);
  mlir::LogicalResult visitSend(mlir::shard::SendOp op);
  mlir::LogicalResult visitReceive(mlir::shard::RecvOp op);
  mlir::LogicalResult visitOffload(OffloadOp op);
  void addCalls(mlir::ArrayAttr calls);
  void addInputs();
  Place slotPlace(mlir::DictionaryAttr port, mlir::Type type);
  mlir::FailureOr<mlir::NamedAttrList> transferFields(mlir::Operation *op, llvm::ArrayRef<int16_t> gridAxes,
                                                      std::optional<llvm::ArrayRef<int64_t>> peer, mlir::Type type);
  mlir::LogicalResult readTransferStream();
  void addTransfer(mlir::Operation *op, llvm::StringRef mnemonic, RootUse use, mlir::NamedAttrList fields,
                   unsigned stream);
  void addSharedEvents();

  // Values.
  void put(mlir::Value value, Place place) {
    places[value] = place;
    valuesIn[place.root].push_back(value);
  }
  mlir::FailureOr<Place> placeOf(mlir::Value value); // constants are filled on first use
  mlir::FailureOr<Place> materialize(ConstantOp constant);
  void fillWith(mlir::DenseElementsAttr splat, Place target, mlir::Operation *op);
  // Where the op finds the value in device memory: a copy where it is stored on the host.
  mlir::FailureOr<Place> devicePlaceOf(mlir::Value value, mlir::Operation *op);
  Place addFresh(uint64_t bytes) { return {draft.roots.add(RegionKind::Transient, bytes), 0}; }
  unsigned stateRoot(llvm::StringRef name);
  unsigned poolRoot(RegionKind kind, uint64_t bytes); // staging, scratch: from the region's start
  // Gives the value the bytes at `target`: by merging its root into it where nothing forbids, else by a copy. Every
  // place of a splat is filled for itself, so that none of them must outlive its neighbours.
  mlir::LogicalResult moveTo(mlir::Value value, Place target, mlir::Operation *op, bool isJoined = false);
  std::optional<unsigned> stateToFill(mlir::Operation *concat) const;
  bool canFollowTie(cleave::KernelOp kernel, unsigned input, unsigned result, llvm::ArrayRef<Place> inputs);
  bool isLastUseOf(unsigned root, mlir::Operation *op) const;
  bool canReduceInPlace(mlir::Operation *op, Place place, uint64_t bytes, uint64_t padded);
  bool isReducedPart(mlir::Value value) const;
  bool accumulatesReduced(cleave::KernelOp kernel) const;
  bool canGatherInPlace(mlir::shard::AllGatherOp op, Place part, Share share, uint64_t bytes);
  bool isMadeOfStates(mlir::Value part, llvm::SmallVectorImpl<size_t> &makers) const;
  void classify();

  // Host memory (DraftOffload.cpp).
  Place fetch(mlir::Operation *op, Place from, uint64_t bytes);
  unsigned fetchNumber(mlir::Operation *op);
  std::vector<Place> hostSlotsOf(OffloadOp op);
  bool isMadeEarly(Place place) const;
  void forgetCopies(Place changed);
  void dropUnreadCopies();

  // Collectives: what is common to them.
  struct Extent {
    llvm::SmallVector<llvm::StringRef> axes;
    int64_t ranks = 1;
    unsigned group = 0;           // number in draft.groups + 1
    uint64_t part = 0, whole = 0; // bytes of one rank's part, and of all together
  };
  mlir::FailureOr<Extent> extentOf(mlir::Operation *op, llvm::ArrayRef<int16_t> gridAxes, mlir::Value whole,
                                   mlir::Value part, int64_t dim);
  void passThrough(mlir::Operation *op, Place place);
  Place reducible(mlir::Operation *op, Place place, uint64_t bytes, uint64_t padded);
  mlir::NamedAttrList ringFields(mlir::Operation *op, const Extent &extent, mlir::Type element, int64_t count);
  mlir::LogicalResult addReduction(mlir::Operation *op, llvm::StringRef mnemonic, mlir::shard::ReductionKind kind,
                                   const Extent &extent, Place data, uint64_t bytes, mlir::Type element,
                                   std::optional<int64_t> root = std::nullopt);
  struct CollectiveRoot {
    int64_t index; // in the group
    bool isHere;   // whether this kind's ranks are it
  };
  mlir::FailureOr<CollectiveRoot> rootOf(mlir::Operation *op, const Extent &extent,
                                         llvm::ArrayRef<int64_t> coordinates);

  // Steps.
  static RootUse use(Place place, uint64_t bytes, bool reads, bool writes) {
    return {place.root, place.offset, bytes, reads, writes, false, place.share};
  }
  Step &addStep(mlir::Operation *op, llvm::StringRef mnemonic, std::vector<RootUse> uses,
                mlir::NamedAttrList fields = {});
  Step &addCopy(mlir::Operation *op, Place target, Place source, uint64_t bytes);
  Step &addFill(mlir::Operation *op, Place target, uint64_t bytes, int64_t pattern, int64_t width);

  ModulePlan &plan;
  mlir::func::FuncOp function;
  mlir::Builder builder;
  ValueFamilies families;
  ProgramDraft draft;
  llvm::DenseMap<mlir::Value, Place> places;
  llvm::DenseMap<unsigned, llvm::SmallVector<mlir::Value, 1>> valuesIn; // by the root that a value was put in
  llvm::StringMap<unsigned> stateRoots, slotRoots;
  std::map<RegionKind, unsigned> poolRoots;
  std::optional<unsigned> transferStream;                // of a body that is one transfer (StagePrograms.h)
  llvm::DenseMap<mlir::Operation *, size_t> kernelSteps; // where the step of a kernel or broadcast stands

  // What of host memory the device holds too. Only the last few are used again: a program that would keep all that it
  // once used has the whole state on the device.
  struct DeviceCopy {
    Place host, device;
    uint64_t bytes;
    uint64_t number; // by `transfers`
  };
  std::vector<DeviceCopy> copies;
  uint64_t transfers = 0;                 // ops that were given copies, and values stored on the host, so far
  mlir::Operation *fetchingFor = nullptr; // the op whose copies the last of draft.gathers are
};

} // namespace cleave::plan

#endif
