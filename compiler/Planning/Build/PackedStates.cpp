#include "compiler/Planning/Build/PackedStates.h"
#include "compiler/Planning/Build/StagePrograms.h"

#include "compiler/Support/WireType.h"
#include "runtime/plan/KernelDefs.h"

using namespace mlir;

namespace cleave::plan {

static const rt::KernelDef *defOf(const KernelSpec &spec) {
  return rt::findKernelDef({spec.name.data(), spec.name.size()});
}

FailureOr<std::vector<int64_t>> encodeParams(Operation *op, std::optional<unsigned> packed) {
  KernelSpec spec = cast<ComputeOpInterface>(op).getKernelSpec();
  const rt::KernelDef *def = defOf(spec);
  if (!def)
    return op->emitOpError("expected a kernel of runtime/plan/Kernels.def; got: ") << spec.name;
  rt::KernelParams params(*def);
  if (packed)
    params.set("packed_" + std::string(def->buffers[*packed].name), 1);
  for (const auto &[name, values] : spec.params)
    params.set({name.data(), name.size()}, std::vector<int64_t>(values.begin(), values.end()));
  for (const auto &[name, type] : spec.types) {
    std::optional<rt::fb::DType> dtype = wireType(type);
    if (!dtype)
      return op->emitOpError("expected an element type that plans know; got: ") << type;
    params.set({name.data(), name.size()}, static_cast<int64_t>(*dtype));
  }
  std::vector<int64_t> list;
  if (rt::Status status = params.finish(&list); !status.isOk())
    return op->emitOpError(status.message());
  return list;
}

namespace {

// What the readers of a state have in common; `packer` is empty when nothing packs for all of them.
class Candidate {
public:
  bool isPackable() const { return !packer.empty() && !spoiled; }
  void spoil() { spoiled = true; }

  LogicalResult add(OpOperand &use) {
    auto compute = dyn_cast<ComputeOpInterface>(use.getOwner());
    const rt::KernelDef *def = nullptr;
    if (compute && compute.getComputeKind() == ComputeKind::Kernel)
      def = defOf(compute.getKernelSpec());
    const rt::KernelDef::BufferDef *buffer =
        def && use.getOperandNumber() < def->buffers.size() ? &def->buffers[use.getOperandNumber()] : nullptr;
    std::string name = buffer ? std::string(def->name) + "_pack_" + std::string(buffer->name) : "";
    if (!buffer || !rt::findKernelDef(name)) {
      spoil();
      return success();
    }
    FailureOr<std::vector<int64_t>> own = encodeParams(use.getOwner(), use.getOperandNumber());
    if (failed(own))
      return failure();
    spoiled |= !packer.empty() && (packer != name || params != *own);
    packer = name;
    params = *own;
    return success();
  }

  std::string packer;
  std::vector<int64_t> params;

private:
  bool spoiled = false;
};

} // namespace

FailureOr<llvm::StringMap<PackedState>> findPackedStates(ModuleOp module, const PlanningOptions &options) {
  llvm::StringMap<PackedState> result;
  if (!options.packed)
    return result;
  llvm::StringMap<Candidate> candidates;
  WalkResult walked = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<ModuleOp>(op) && op != module) // another kind's
      return WalkResult::skip();
    if (auto write = dyn_cast<WriteOp>(op))
      candidates[write.getState()].spoil();
    if (auto read = dyn_cast<ReadOp>(op))
      for (OpOperand &use : read.getResult().getUses())
        if (failed(candidates[read.getState()].add(use)))
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  for (cleave::StateOp state : module.getOps<cleave::StateOp>()) {
    const Candidate &candidate = candidates[state.getSymName()];
    bool isWeight = state.getRole() == cleave::Role::Parameter || state.getRole() == cleave::Role::Buffer;
    if (state->hasAttr(kSharedAttr) || !candidate.isPackable() || !isWeight ||
        (state.getStorage() && !state.getStorage()->isReplicated()))
      continue;
    llvm::Expected<uint64_t> bytes = options.packed(candidate.packer, candidate.params, options.threads);
    if (!bytes)
      return state.emitOpError("cannot be packed: ") << llvm::toString(bytes.takeError());
    if (*bytes != 0 && *bytes <= static_cast<uint64_t>(byteSize(state.getTensorType())))
      result[state.getSymName()] = {candidate.packer, candidate.params};
  }
  return result;
}

} // namespace cleave::plan
