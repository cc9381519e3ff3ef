// What all programs of a plan share while it is built: where states and ports lie, the tables of kernels and groups,
// the sizes of regions. It adds the corresponding ops of the plan dialect as it learns of them.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_MODULEPLAN_H
#define CLEAVE_COMPILER_PLANNING_BUILD_MODULEPLAN_H

#include "compiler/Planning/Build/PackedStates.h"
#include "compiler/Planning/Draft/AllocationTable.h"
#include "compiler/Planning/Pipeline.h"
#include "dialects/Cleave/IR/RankKinds.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <array>

namespace cleave::plan {

// Buffers begin on multiples of these.
inline constexpr uint64_t kBufferAlignment = 64;
inline constexpr uint64_t kStateAlignment = 128;

inline constexpr std::array<llvm::StringLiteral, kStreams> kStreamNames{
    "compute", "reduce", "gather", "copy", "send", "recv", "send.gradient", "recv.gradient"};

// The name of the one region of a kind in the device's memory, or the host's: "persistent", "host.persistent".
std::string regionName(RegionKind kind, bool isHost = false);
// That of stage buffers with so many frames: "residual.2".
std::string stageBufferRegionName(int64_t frames, bool isHost = false);
// Bytes of a tensor in memory.
uint64_t bytesOf(mlir::Type tensor);

// For each result a mask of the inputs that it is computed from; empty where every result needs all of them.
llvm::SmallVector<int64_t> dependencesOf(cleave::KernelOp kernel);
// The bits of a splat's element.
uint64_t splatBits(mlir::DenseElementsAttr value);

class ModulePlan {
public:
  // Ops of the plan are put in front of `module`'s others.
  ModulePlan(mlir::ModuleOp module, const PlanningOptions &options);

  // Gives every cleave.state its address. Diagnoses storage that the wire format cannot express.
  mlir::LogicalResult layOutStates();
  // What an allocation needs to know of a state that has an address.
  struct StateAddress {
    uint64_t offset, bytes;
    bool isHost = false; // in host memory
  };
  std::optional<StateAddress> findState(llvm::StringRef name) const;
  // How a value read from a state was packed; null when it is plain.
  const PackedState *findPacked(mlir::Value value) const;
  // The operand of a library call that is packed.
  std::optional<PackedOperand> packedOperandOf(mlir::Operation *op) const;
  const llvm::StringMap<PackedState> &getPackedStates() const { return packed; }
  // True when a later program may read what this one leaves in the state: an entry reads it before it writes it.
  bool survives(llvm::StringRef state);

  // The address of the input of that name and type in a frame; inputs of two programs share it.
  uint64_t inputOffset(llvm::StringRef name, mlir::Type type);
  // The address of a value that crosses bodies (StagePrograms.h) in a frame; all programs that name the stage buffer
  // share it.
  uint64_t stageBufferOffset(llvm::StringRef stageBuffer, int64_t frames, uint64_t bytes, bool isHost = false);
  // Once it has one.
  uint64_t knownStageBufferOffset(llvm::StringRef stageBuffer, uint64_t bytes, bool isHost) const {
    return stageBuffers.lookup(stageBufferKey(stageBuffer, bytes, isHost));
  }
  uint64_t stageBufferRegionBytes(int64_t frames, bool isHost) const {
    auto known = stageBufferBytes[isHost].find(frames);
    return known == stageBufferBytes[isHost].end() ? 0 : known->second;
  }
  // An event of the plan's, with frames.
  mlir::FlatSymbolRefAttr event(llvm::StringRef name, int64_t frames);
  // A constant that lies in memory as a state, under a new name.
  mlir::FailureOr<StateAddress> addConstant(mlir::DenseElementsAttr value, mlir::Location loc);
  // That name, once it has one.
  std::string nameOfConstant(mlir::DenseElementsAttr value) const { return constants.lookup(value); }

  // Symbols of table entries, made on first use.
  mlir::FailureOr<mlir::FlatSymbolRefAttr> generatedKernel(cleave::KernelOp kernel);
  struct LibraryKernel {
    mlir::FlatSymbolRefAttr symbol;
    std::optional<uint64_t> scratch;               // bytes, where the kernel has a scratch buffer
    llvm::SmallVector<std::optional<size_t>> over; // of each buffer: the one in whose place it may be written
    std::optional<size_t> overOf(size_t buffer) const { return buffer < over.size() ? over[buffer] : std::nullopt; }
  };
  mlir::FailureOr<LibraryKernel> libraryKernel(mlir::Operation *op);
  mlir::FailureOr<LibraryKernel> packKernel(const PackedState &state, uint64_t bytes, mlir::Location loc);
  // The group of ranks that differ on these axes of the mesh, and how many they are.
  mlir::FlatSymbolRefAttr group(llvm::ArrayRef<llvm::StringRef> axes);
  int64_t ranksOn(llvm::ArrayRef<llvm::StringRef> axes) const;
  MeshAttr getMesh() const { return mesh; }
  // Which ranks this plan is for.
  const RankKind &getKind() const { return kind; }

  // A region must have at least that many bytes.
  void needRegion(RegionKind kind, uint64_t bytes, bool isHost = false) {
    uint64_t &size = bytesOfRegion(kind, isHost);
    size = std::max(size, bytes);
  }
  void needStream(unsigned stream) { usesStream[stream] = true; }
  bool hasStream(unsigned stream) const { return usesStream[stream]; }
  // The role of a cleave.state.
  Role roleOf(llvm::StringRef state) const { return roles.lookup(state); }
  const PlanningOptions &getOptions() const { return options; }
  // Header and regions, when all programs are known.
  void emitTables();

private:
  mlir::LogicalResult addState(cleave::StateOp state);
  // The first micro-batch's bodies may keep other values under the name.
  static std::string stageBufferKey(llvm::StringRef stageBuffer, uint64_t bytes, bool isHost) {
    return stageBuffer.str() + (isHost ? " host " : " ") + std::to_string(bytes);
  }
  // Whether something beside the tables' entries, which are numbered or labelled, has this name.
  bool isTaken(llvm::StringRef name);
  // The operands of plan.kernel.
  struct KernelEntry {
    KernelKind kind;
    llvm::StringRef name;
    llvm::ArrayRef<int64_t> params;
    uint64_t extent;
    OpCost cost;
    uint64_t scratch;
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
  std::optional<llvm::StringSet<>> surviving; // found when it is asked for
  llvm::StringMap<uint64_t> inputs, stageBuffers;
  std::array<std::map<int64_t, uint64_t>, 2> stageBufferBytes; // of regions by frames; of the device, of the host
  llvm::StringSet<> events;
  std::map<std::pair<std::string, std::vector<int64_t>>, std::string> kernels;
  std::map<std::vector<std::string>, std::string> groups;
  std::array<std::array<uint64_t, getMaxEnumValForRegionKind() + 1>, 2> regionBytes{}; // of the device, of the host
  llvm::DenseMap<mlir::Attribute, std::string> constants;
  std::optional<llvm::StringSet<>> taken; // found when it is asked for
  std::array<bool, kStreams> usesStream{true};
};

} // namespace cleave::plan

#endif
