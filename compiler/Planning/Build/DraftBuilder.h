// Makes a draft from a function in kernels form: values become byte ranges, and ops become instructions in program
// order.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_DRAFTBUILDER_H
#define CLEAVE_COMPILER_PLANNING_BUILD_DRAFTBUILDER_H

#include "compiler/Planning/Build/ModulePlan.h"
#include "compiler/Planning/Draft/Issue.h"
#include "compiler/Planning/Build/ValueFamilies.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

namespace cleave::plan {

// An instruction without its buffers, stream and event. DraftInstruction::payload is its index in
// ProgramDraft::payloads.
struct InstructionPayload {
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
  mlir::ArrayAttr splitAxes; // null: not split
  bool isAbsent = false;     // only other kinds of ranks have this port
};

struct ProgramDraft {
  std::string name;
  bool entry = false;
  bool isTransfer = false; // a single send or receive, which only events of the plan order
  std::vector<PortDraft> ports;
  AllocationTable allocations;
  std::vector<DraftInstruction> instructions;
  std::vector<InstructionPayload> payloads;
  std::vector<Gather> gathers;
  std::vector<mlir::FlatSymbolRefAttr> groups; // index: Share::group - 1
  std::vector<unsigned> gathered, unreduced;   // allocations that gathers fill, and that are reduced
  std::vector<unsigned> staged;                // allocations that copies from host memory fill
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
  Address stageBufferAddress(mlir::DictionaryAttr port, mlir::Type type);
  mlir::FailureOr<mlir::NamedAttrList> transferFields(mlir::Operation *op, llvm::ArrayRef<int16_t> gridAxes,
                                                      std::optional<llvm::ArrayRef<int64_t>> peer, mlir::Type type);
  mlir::LogicalResult readTransferStream();
  mlir::LogicalResult checkStageBuffers();
  void addTransfer(mlir::Operation *op, llvm::StringRef mnemonic, MemoryAccess use, mlir::NamedAttrList fields,
                   unsigned stream);
  void addSharedEvents();

  // Values.
  void put(mlir::Value value, Address address) {
    addresses[value] = address;
    valuesIn[address.allocation].push_back(value);
  }
  mlir::FailureOr<Address> addressOf(mlir::Value value); // fills a constant at its first use
  mlir::FailureOr<Address> materialize(ConstantOp constant);
  void fillWith(mlir::DenseElementsAttr splat, Address target, mlir::Operation *op);
  // Returns the value's address in device memory, for use by `op`. A value in host memory is copied to the device.
  mlir::FailureOr<Address> deviceAddressOf(mlir::Value value, mlir::Operation *op);
  Address addFresh(uint64_t bytes) { return {draft.allocations.add(RegionKind::Transient, bytes), 0}; }
  unsigned stateAllocation(llvm::StringRef name);
  unsigned poolAllocation(RegionKind kind, uint64_t bytes); // staging or scratch, from the region's start
  // Gives the value the bytes at `target`: merges its allocation into the target's if nothing forbids it, and copies it
  // otherwise. A splat is filled separately at each of its addresses, so that no copy of it has to outlive its
  // neighbours.
  mlir::LogicalResult moveTo(mlir::Value value, Address target, mlir::Operation *op, bool isJoined = false);
  std::optional<unsigned> stateToFill(mlir::Operation *concat) const;
  bool canFollowTie(cleave::KernelOp kernel, unsigned input, unsigned result, llvm::ArrayRef<Address> inputs);
  bool isLastUseOf(unsigned allocation, mlir::Operation *op) const;
  bool canReduceInPlace(mlir::Operation *op, Address address, uint64_t bytes, uint64_t padded);
  bool isReducedPart(mlir::Value value) const;
  bool accumulatesReduced(cleave::KernelOp kernel) const;
  bool canGatherInPlace(mlir::shard::AllGatherOp op, Address part, Share share, uint64_t bytes);
  bool isMadeOfStates(mlir::Value part, llvm::SmallVectorImpl<size_t> &makers) const;
  void settleGathers();

  // Host memory (DraftOffload.cpp).
  Address fetch(mlir::Operation *op, Address from, uint64_t bytes);
  unsigned fetchNumber(mlir::Operation *op);
  std::vector<Address> hostStageBuffersOf(OffloadOp op);
  bool isMadeEarly(Address address) const;
  void forgetCopies(Address changed);
  void dropUnreadCopies();

  // Shared by all collectives.
  struct Extent {
    llvm::SmallVector<llvm::StringRef> axes;
    int64_t ranks = 1;
    unsigned group = 0;           // index in draft.groups, plus 1
    uint64_t part = 0, whole = 0; // bytes of one rank's part, and of all parts together
  };
  mlir::FailureOr<Extent> extentOf(mlir::Operation *op, llvm::ArrayRef<int16_t> gridAxes, mlir::Value whole,
                                   mlir::Value part, int64_t dim);
  void passThrough(mlir::Operation *op, Address address);
  Address reducible(mlir::Operation *op, Address address, uint64_t bytes, uint64_t padded);
  mlir::NamedAttrList ringFields(mlir::Operation *op, const Extent &extent, mlir::Type element, int64_t count);
  mlir::LogicalResult addReduction(mlir::Operation *op, llvm::StringRef mnemonic, mlir::shard::ReductionKind kind,
                                   const Extent &extent, Address data, uint64_t bytes, mlir::Type element,
                                   std::optional<int64_t> root = std::nullopt);
  struct CollectiveRoot {
    int64_t index; // in the group
    bool isHere;   // whether this kind's ranks are the root
  };
  mlir::FailureOr<CollectiveRoot> rootOf(mlir::Operation *op, const Extent &extent,
                                         llvm::ArrayRef<int64_t> coordinates);

  // Instructions.
  static MemoryAccess use(Address address, uint64_t bytes, bool reads, bool writes) {
    return {address.allocation, address.offset, bytes, reads, writes, false, address.share};
  }
  DraftInstruction &addInstruction(mlir::Operation *op, llvm::StringRef mnemonic, std::vector<MemoryAccess> uses,
                                   mlir::NamedAttrList fields = {});
  DraftInstruction &addCopy(mlir::Operation *op, Address target, Address source, uint64_t bytes);
  DraftInstruction &addFill(mlir::Operation *op, Address target, uint64_t bytes, int64_t pattern, int64_t width);

  ModulePlan &plan;
  mlir::func::FuncOp function;
  mlir::Builder builder;
  ValueFamilies families;
  ProgramDraft draft;
  llvm::DenseMap<mlir::Value, Address> addresses;
  llvm::DenseMap<unsigned, llvm::SmallVector<mlir::Value, 1>> valuesIn; // by allocation
  llvm::StringMap<unsigned> stateAllocations, stageBufferAllocations;
  std::map<RegionKind, unsigned> poolAllocations;
  std::optional<unsigned> transferStream; // set if the body is a single transfer (StagePrograms.h)
  llvm::DenseMap<mlir::Operation *, size_t> kernelInstructions; // index of the instruction of a kernel or broadcast

  // Bytes of host memory that the device holds, too. Only the last few copies are used again: a program that kept every
  // copy would have the whole state on the device.
  struct DeviceCopy {
    Address host, device;
    uint64_t bytes;
    uint64_t number; // the value of `transfers` when it was made
  };
  std::vector<DeviceCopy> copies;
  uint64_t transfers = 0;                 // number of ops that got copies, and of values stored on the host, so far
  mlir::Operation *fetchingFor = nullptr; // the op that the last of draft.gathers copies for
};

} // namespace cleave::plan

#endif
