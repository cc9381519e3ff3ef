#include "compiler/Planning/Build/PackedStates.h"
#include "compiler/Planning/Build/StagePrograms.h"

#include "compiler/Support/WireType.h"
#include "runtime/plan/KernelDefs.h"

using namespace mlir;

namespace cleave::plan {

static const rt::KernelDef *defOf(const KernelSpec &spec) {
  return rt::findKernelDef({spec.name.data(), spec.name.size()});
}

FailureOr<std::vector<int64_t>> encodeParams(Operation *op, std::optional<PackedOperand> packed) {
  KernelSpec spec = cast<ComputeOpInterface>(op).getKernelSpec();
  const rt::KernelDef *def = defOf(spec);
  if (!def)
    return op->emitOpError("expected a kernel of runtime/plan/Kernels.def; got: ") << spec.name;
  rt::KernelParams params(*def);
  if (packed)
    params.set(def->buffers[packed->number].packedParam(), packed->form);
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

// What the readers of a state have in common. `packer` is null if no kernel packs for all of them.
class Candidate {
public:
  explicit Candidate(int64_t form) : form(form) {}
  bool isPackable() const { return packer && !spoiled; }
  void spoil() { spoiled = true; }

  LogicalResult add(OpOperand &use) {
    auto compute = dyn_cast<ComputeOpInterface>(use.getOwner());
    const rt::KernelDef *def = nullptr;
    if (compute && compute.getComputeKind() == ComputeKind::Kernel)
      def = defOf(compute.getKernelSpec());
    const rt::KernelDef *own = def && use.getOperandNumber() < def->buffers.size()
                                   ? rt::packerOf(*def, def->buffers[use.getOperandNumber()])
                                   : nullptr;
    if (!own) {
      spoil();
      return success();
    }
    FailureOr<std::vector<int64_t>> ownParams =
        encodeParams(use.getOwner(), PackedOperand{use.getOperandNumber(), form});
    if (failed(ownParams))
      return failure();
    spoiled |= packer && (packer != own || params != *ownParams);
    packer = own;
    params = *ownParams;
    return success();
  }

  const rt::KernelDef *packer = nullptr;
  std::vector<int64_t> params;

private:
  int64_t form;
  bool spoiled = false;
};

} // namespace

// Adds the states that have room for this form and are not in `result` yet.
static LogicalResult findInForm(ModuleOp module, const PlanningOptions &options, int64_t form,
                                llvm::StringMap<PackedState> &result) {
  llvm::StringMap<Candidate> candidates;
  auto candidateOf = [&](StringRef state) -> Candidate & { return candidates.try_emplace(state, form).first->second; };
  WalkResult walked = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<ModuleOp>(op) && op != module) // belongs to another kind
      return WalkResult::skip();
    if (auto write = dyn_cast<WriteOp>(op))
      candidateOf(write.getState()).spoil();
    if (auto read = dyn_cast<ReadOp>(op))
      for (OpOperand &use : read.getResult().getUses())
        if (failed(candidateOf(read.getState()).add(use)))
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  for (cleave::StateOp state : module.getOps<cleave::StateOp>()) {
    const Candidate &candidate = candidateOf(state.getSymName());
    bool isWeight = state.getRole() == cleave::Role::Parameter || state.getRole() == cleave::Role::Buffer;
    if (result.contains(state.getSymName()) || state->hasAttr(kSharedAttr) || !candidate.isPackable() || !isWeight ||
        (state.getStorage() && !state.getStorage()->isReplicated()))
      continue;
    llvm::Expected<uint64_t> bytes = options.packed(candidate.packer->name, candidate.params, options.threads);
    if (!bytes)
      return state.emitError("weight '") << state.getSymName()
                                         << "' cannot be packed for oneDNN: " << llvm::toString(bytes.takeError());
    if (*bytes != 0 && *bytes <= static_cast<uint64_t>(byteSize(state.getTensorType())))
      result[state.getSymName()] = {std::string(candidate.packer->name), candidate.params, form};
  }
  return success();
}

FailureOr<llvm::StringMap<PackedState>> findPackedStates(ModuleOp module, const PlanningOptions &options) {
  llvm::StringMap<PackedState> result;
  if (!options.packed)
    return result;
  for (int64_t form = 1; form <= kPackedForms; ++form)
    if (failed(findInForm(module, options, form, result)))
      return failure();
  return result;
}

} // namespace cleave::plan
