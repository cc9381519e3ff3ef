// Part of ModulePlan: the kernel table.
#include "compiler/Planning/Build/ModulePlan.h"
#include "dialects/Cleave/IR/KernelText.h"
#include "runtime/plan/KernelDefs.h"

using namespace mlir;

namespace cleave::plan {

bool ModulePlan::isTaken(StringRef name) {
  if (!taken) {
    taken.emplace();
    for (Operation &op : *module.getBody())
      if (auto symbol = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
        taken->insert(symbol.getValue());
  }
  return taken->contains(name);
}

FlatSymbolRefAttr ModulePlan::addKernel(const KernelEntry &entry, Location loc) {
  auto [known, isNew] = kernels.try_emplace({entry.name.str(), entry.params.vec()}, "");
  if (isNew) {
    known->second =
        entry.kind == KernelKind::Generated ? entry.name.str() : (entry.name + "." + Twine(kernels.size() - 1)).str();
    // A function or a state may have the same name as a label.
    while (isTaken(known->second))
      known->second = "kernel." + known->second;
    KernelOp::create(builder, loc, known->second, entry.kind, entry.name, entry.params, entry.extent, entry.cost.flops,
                     entry.cost.bytes, entry.scratch, entry.code,
                     entry.depends.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(entry.depends),
                     entry.operands.empty() ? ArrayAttr() : builder.getArrayAttr(entry.operands));
  }
  return FlatSymbolRefAttr::get(builder.getContext(), known->second);
}

// Estimates the cost of a kernel: the operations of its body, and the bytes of its inputs and results. Values in
// between stay in registers and caches.
static OpCost costOf(cleave::KernelOp kernel) {
  OpCost cost;
  for (Operation &op : kernel.getBody().front())
    if (auto known = dyn_cast<CostOpInterface>(op))
      cost.flops += known.getCost().flops;
  for (Type type : kernel->getOperandTypes())
    cost.bytes += bytesOf(type);
  for (Type type : kernel->getResultTypes())
    cost.bytes += bytesOf(type);
  return cost;
}

// `verify-plan` needs the inputs of each result: a kernel may compute a normalized activation and also the running
// mean, which do not depend on the same inputs.
llvm::SmallVector<int64_t> dependencesOf(cleave::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  unsigned count = body.getNumArguments();
  if (count > 63)
    return {};
  llvm::DenseMap<Value, int64_t> masks;
  for (BlockArgument argument : body.getArguments())
    masks[argument] = int64_t{1} << argument.getArgNumber();
  for (Operation &op : body.without_terminator()) {
    int64_t mask = 0;
    for (Value operand : op.getOperands())
      mask |= masks.lookup(operand);
    for (Value result : op.getResults())
      masks[result] = mask;
  }
  llvm::SmallVector<int64_t> depends;
  for (Value result : body.getTerminator()->getOperands())
    depends.push_back(masks.lookup(result));
  auto all = static_cast<int64_t>((uint64_t{1} << count) - 1);
  return llvm::all_of(depends, [&](int64_t mask) { return mask == all; }) ? llvm::SmallVector<int64_t>() : depends;
}

// Returns the buffers of the generated code: inputs, then results. The code writes a tied result over its input.
static llvm::SmallVector<Attribute> operandsOf(cleave::KernelOp kernel) {
  llvm::SmallVector<Attribute> operands;
  auto add = [&](Type type, Access access, int64_t over) {
    operands.push_back(OperandAttr::get(kernel.getContext(), getElementTypeOrSelf(type),
                                        static_cast<int64_t>(bytesOf(type)), access, over));
  };
  for (Type type : kernel.getInputs().getTypes())
    add(type, Access::Read, -1);
  std::optional<ArrayRef<int64_t>> ties = kernel.getTied();
  for (auto [index, type] : llvm::enumerate(kernel.getResultTypes()))
    add(type, Access::Write, ties ? (*ties)[index] : -1);
  return operands;
}

uint64_t ModulePlan::codeOf(cleave::KernelOp kernel) const {
  auto [known, isNew] = codes.try_emplace(kernel.getLabel().value_or(""));
  if (isNew)
    known->second = cleave::codeOf(kernel);
  return known->second;
}

FailureOr<FlatSymbolRefAttr> ModulePlan::generatedKernel(cleave::KernelOp kernel) {
  if (!kernel.getLabel())
    return kernel.emitError("expected a kernel with a label; got: none (run name-kernels first)");
  // Kernels of one label are equal.
  if (auto known = kernels.find({kernel.getLabel()->str(), {}}); known != kernels.end())
    return FlatSymbolRefAttr::get(builder.getContext(), known->second);
  FailureOr<int64_t> extent = options.extent ? options.extent(kernel) : FailureOr<int64_t>(1);
  if (failed(extent))
    return failure();
  llvm::SmallVector<int64_t> depends = dependencesOf(kernel);
  llvm::SmallVector<Attribute> operands = operandsOf(kernel);
  return addKernel({KernelKind::Generated,
                    *kernel.getLabel(),
                    {},
                    static_cast<uint64_t>(*extent),
                    costOf(kernel),
                    0,
                    codeOf(kernel),
                    depends,
                    operands},
                   kernel.getLoc());
}

std::optional<PackedOperand> ModulePlan::packedOperandOf(Operation *op) const {
  std::optional<PackedOperand> packedOperand;
  for (OpOperand &operand : op->getOpOperands())
    if (const PackedState *state = findPacked(operand.get()))
      packedOperand = PackedOperand{operand.getOperandNumber(), state->form};
  return packedOperand;
}

FailureOr<ModulePlan::LibraryKernel> ModulePlan::libraryKernel(Operation *op) {
  FailureOr<std::vector<int64_t>> params = encodeParams(op, packedOperandOf(op));
  if (failed(params))
    return failure();
  auto cost = dyn_cast<CostOpInterface>(op);
  return addLibraryKernel(cast<ComputeOpInterface>(op).getKernelSpec().name, *params, cost ? cost.getCost() : OpCost(),
                          op->getLoc());
}

FailureOr<ModulePlan::LibraryKernel> ModulePlan::packKernel(const PackedState &state, uint64_t bytes, Location loc) {
  OpCost cost;
  cost.bytes = 2 * bytes;
  return addLibraryKernel(state.packer, state.params, cost, loc);
}

FailureOr<ModulePlan::LibraryKernel> ModulePlan::addLibraryKernel(StringRef name, ArrayRef<int64_t> params, OpCost cost,
                                                                  Location loc) {
  const rt::KernelDef &def = *rt::findKernelDef({name.data(), name.size()});
  auto kind = def.kind == rt::fb::KernelKind::library ? KernelKind::Library : KernelKind::Builtin;
  uint64_t scratch = 0;
  if (def.hasScratch() && options.scratch) {
    llvm::Expected<uint64_t> bytes = options.scratch(name, params, options.threads);
    if (!bytes)
      return emitError(loc) << "'" << name << "' cannot be planned: " << llvm::toString(bytes.takeError());
    scratch = *bytes;
  }
  LibraryKernel kernel{addKernel({kind, name, params, 1, cost, scratch, 0, {}, {}}, loc), std::nullopt, {}};
  for (const rt::KernelDef::BufferDef &buffer : def.buffers)
    kernel.over.push_back(buffer.over);
  if (def.hasScratch())
    kernel.scratch = scratch;
  return kernel;
}

} // namespace cleave::plan
