// What all programs of a plan share while it is built: the addresses of states and ports, the tables of kernels and
// groups, and the sizes of regions. ModulePlan adds the corresponding ops of the plan dialect as soon as it knows them.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_MODULEPLAN_H
#define CLEAVE_COMPILER_PLANNING_BUILD_MODULEPLAN_H

#include "compiler/Planning/Build/AllocationTable.h"
#include "compiler/Planning/Build/PackedStates.h"
#include "compiler/Planning/Pipeline.h"
#include "dialects/Cleave/IR/RankKinds.h"
#include "runtime/plan/Alignment.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <array>

namespace cleave::plan {

using rt::kBufferAlignment;
using rt::kStateAlignment;

inline constexpr std::array<llvm::StringLiteral, kStreams> kStreamNames{
    "compute", "reduce", "gather", "copy", "send", "recv", "send.gradient", "recv.gradient"};

// Returns the name of the only region of a kind, in device or host memory: "persistent", "host.persistent".
std::string regionName(RegionKind kind, bool isHost = false);
// Returns the name of the region of stage buffers with this number of frames: "residual.2".
std::string stageBufferRegionName(int64_t frames, bool isHost = false);
// Returns the size of a tensor in memory, in bytes.
uint64_t bytesOf(mlir::Type tensor);

// Returns for each result a mask of the inputs that it is computed from. Empty if every result needs all inputs, or if
// there are more than 63.
llvm::SmallVector<int64_t> dependencesOf(cleave::KernelOp kernel);
// Returns the bits of a splat's element.
uint64_t splatBits(mlir::DenseElementsAttr value);

class ModulePlan {
public:
  // Inserts ops of the plan before the other ops of `module`.
  ModulePlan(mlir::ModuleOp module, const PlanningOptions &options);

  // Gives every cleave.state its address. Fails if the wire format cannot express a state's storage.
  mlir::LogicalResult layOutStates();
  // The address of a state, for an allocation.
  struct StateAddress {
    uint64_t offset, bytes;
    bool isHost = false; // in host memory
  };
  std::optional<StateAddress> findState(llvm::StringRef name) const;
  // Returns how a value read from a state was packed; null if it is plain.
  const PackedState *findPacked(mlir::Value value) const;
  // Returns the operand of a library call that is packed; none if all are plain.
  std::optional<PackedOperand> packedOperandOf(mlir::Operation *op) const;
  const llvm::StringMap<PackedState> &getPackedStates() const { return packed; }
  // True if a later program may read the state's present content: an entry reads the state before it writes it.
  bool survives(llvm::StringRef state);

  // Returns the address of an input in a frame. Inputs of two programs share it if they have the same name and type.
  uint64_t inputOffset(llvm::StringRef name, mlir::Type type);
  // Returns the address in a frame of a value that crosses bodies (StagePrograms.h). All programs that name the stage
  // buffer share it.
  uint64_t stageBufferOffset(llvm::StringRef stageBuffer, int64_t frames, uint64_t bytes, bool isHost = false);
  // The same for a stage buffer that has an address already.
  uint64_t knownStageBufferOffset(llvm::StringRef stageBuffer, uint64_t bytes, bool isHost) const {
    return stageBuffers.lookup(stageBufferKey(stageBuffer, bytes, isHost));
  }
  uint64_t stageBufferRegionBytes(int64_t frames, bool isHost) const {
    auto known = stageBufferBytes[isHost].find(frames);
    return known == stageBufferBytes[isHost].end() ? 0 : known->second;
  }
  // Returns the symbol of an event of the plan, with frames. The first call adds the event.
  mlir::FlatSymbolRefAttr event(llvm::StringRef name, int64_t frames);
  // Adds a constant to memory as a state with a new name. Fails if there is no options.constants.
  mlir::FailureOr<StateAddress> addConstant(mlir::DenseElementsAttr value, mlir::Location loc);
  // Returns that name; empty if the constant is no state.
  std::string nameOfConstant(mlir::DenseElementsAttr value) const { return constants.lookup(value); }

  // These return symbols of table entries, which are made at the first use.
  mlir::FailureOr<mlir::FlatSymbolRefAttr> generatedKernel(cleave::KernelOp kernel);
  // Returns the hash of a labelled kernel's text (KernelText.h). Kernels of one label are equal.
  uint64_t codeOf(cleave::KernelOp kernel) const;
  struct LibraryKernel {
    mlir::FlatSymbolRefAttr symbol;
    std::optional<uint64_t> scratch;               // bytes, if the kernel has a scratch buffer
    llvm::SmallVector<std::optional<size_t>> over; // for each buffer: the one that it may be written over
    std::optional<size_t> overOf(size_t buffer) const { return buffer < over.size() ? over[buffer] : std::nullopt; }
  };
  mlir::FailureOr<LibraryKernel> libraryKernel(mlir::Operation *op);
  mlir::FailureOr<LibraryKernel> packKernel(const PackedState &state, uint64_t bytes, mlir::Location loc);
  // The group of ranks that differ only on these axes of the mesh, and its size.
  mlir::FlatSymbolRefAttr group(llvm::ArrayRef<llvm::StringRef> axes);
  int64_t ranksOn(llvm::ArrayRef<llvm::StringRef> axes) const;
  MeshAttr getMesh() const { return mesh; }
  // The ranks that this plan is for.
  const RankKind &getKind() const { return kind; }

  // Makes the region at least this large.
  void needRegion(RegionKind kind, uint64_t bytes, bool isHost = false) {
    uint64_t &size = bytesOfRegion(kind, isHost);
    size = std::max(size, bytes);
  }
  uint64_t neededBytes(RegionKind kind) const { return regionBytes[0][static_cast<size_t>(kind)]; }
  void needStream(unsigned stream) { usesStream[stream] = true; }
  bool hasStream(unsigned stream) const { return usesStream[stream]; }
  // The role of a cleave.state.
  Role roleOf(llvm::StringRef state) const { return roles.lookup(state); }
  const PlanningOptions &getOptions() const { return options; }
  // Adds the header and the regions. All programs must be known.
  void emitTables();

private:
  mlir::LogicalResult addState(cleave::StateOp state);
  // The key contains the size, because the bodies of the first micro-batch may keep other values under the same name.
  static std::string stageBufferKey(llvm::StringRef stageBuffer, uint64_t bytes, bool isHost) {
    return stageBuffer.str() + (isHost ? " host " : " ") + std::to_string(bytes);
  }
  // True if an op of the module has this name. Entries of tables do not count: they are numbered or labelled.
  bool isTaken(llvm::StringRef name);
  // The operands of plan.kernel.
  struct KernelEntry {
    KernelKind kind;
    llvm::StringRef name;
    llvm::ArrayRef<int64_t> params;
    uint64_t extent;
    OpCost cost;
    uint64_t scratch;
    uint64_t code;
    llvm::ArrayRef<int64_t> depends;
    llvm::ArrayRef<mlir::Attribute> operands;
  };
  mlir::FlatSymbolRefAttr addKernel(const KernelEntry &entry, mlir::Location loc);
  mlir::FailureOr<LibraryKernel> addLibraryKernel(llvm::StringRef name, llvm::ArrayRef<int64_t> params, OpCost cost,
                                                  mlir::Location loc);
  mlir::ArrayAttr axisNames(llvm::ArrayRef<llvm::StringRef> axes);
  uint64_t &bytesOfRegion(RegionKind kind, bool isHost = false) {
    return regionBytes[isHost][static_cast<size_t>(kind)];
  }

  mlir::ModuleOp module;
  const PlanningOptions &options;
  MeshAttr mesh;
  RankKind kind;
  mlir::OpBuilder builder;
  llvm::StringMap<StateAddress> states;
  llvm::StringMap<Role> roles;
  llvm::StringMap<PackedState> packed;
  std::optional<llvm::StringSet<>> surviving; // computed at the first use
  llvm::StringMap<uint64_t> inputs, stageBuffers;
  std::array<std::map<int64_t, uint64_t>, 2> stageBufferBytes; // of regions, by frames; [0] device, [1] host
  llvm::StringSet<> events;
  std::map<std::pair<std::string, std::vector<int64_t>>, std::string> kernels;
  mutable llvm::StringMap<uint64_t> codes; // by label
  std::map<std::vector<std::string>, std::string> groups;
  std::array<std::array<uint64_t, getMaxEnumValForRegionKind() + 1>, 2> regionBytes{}; // [0] device, [1] host
  llvm::DenseMap<mlir::Attribute, std::string> constants;
  std::optional<llvm::StringSet<>> taken; // computed at the first use
  std::array<bool, kStreams> usesStream{true};
};

} // namespace cleave::plan

#endif
