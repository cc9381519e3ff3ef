// The kernel table of a ModulePlan.
#include "compiler/Planning/ModulePlan.h"
#include "compiler/Planning/PlanWriter.h"
#include "runtime/plan/KernelDefs.h"

using namespace mlir;

namespace cleave::plan {

FlatSymbolRefAttr ModulePlan::addKernel(KernelKind kind, StringRef name, ArrayRef<int64_t> params, uint64_t extent,
                                        OpCost cost, Location loc) {
  auto [known, isNew] = kernels.try_emplace({name.str(), params.vec()}, "");
  if (isNew) {
    known->second = kind == KernelKind::Generated ? name.str() : (name + "." + Twine(kernels.size() - 1)).str();
    // A function or state may have the name of a label.
    if (SymbolTable::lookupSymbolIn(module, known->second))
      known->second = "kernel." + known->second;
    KernelOp::create(builder, loc, known->second, kind, name, params, extent, cost.flops, cost.bytes);
  }
  return FlatSymbolRefAttr::get(builder.getContext(), known->second);
}

// Work of what is inside; traffic of inputs and results, since what is between stays in registers and caches.
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

FailureOr<FlatSymbolRefAttr> ModulePlan::generatedKernel(cleave::KernelOp kernel) {
  if (!kernel.getLabel())
    return kernel.emitError("expected a kernel with a label; got: none (run name-kernels first)");
  uint64_t extent = options.extent ? options.extent(kernel) : 1;
  return addKernel(KernelKind::Generated, *kernel.getLabel(), {}, extent, costOf(kernel), kernel.getLoc());
}

FailureOr<std::vector<int64_t>> ModulePlan::encodeParams(Operation *op, const KernelSpec &spec) {
  const rt::KernelDef *def = rt::findKernelDef({spec.name.data(), spec.name.size()});
  if (!def)
    return op->emitOpError("expected a kernel of runtime/plan/Kernels.def; got: ") << spec.name;
  rt::KernelParams params(*def);
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

FailureOr<ModulePlan::LibraryKernel> ModulePlan::libraryKernel(Operation *op) {
  KernelSpec spec = cast<ComputeOpInterface>(op).getKernelSpec();
  FailureOr<std::vector<int64_t>> params = encodeParams(op, spec);
  if (failed(params))
    return failure();
  const rt::KernelDef &def = *rt::findKernelDef({spec.name.data(), spec.name.size()});
  auto kind = def.kind == rt::fb::KernelKind::library ? KernelKind::Library : KernelKind::Builtin;
  auto cost = dyn_cast<CostOpInterface>(op);
  LibraryKernel kernel{addKernel(kind, spec.name, *params, 1, cost ? cost.getCost() : OpCost(), op->getLoc()),
                       std::nullopt};
  if (!def.hasScratch())
    return kernel;
  kernel.scratch = 0;
  if (options.scratch) {
    llvm::Expected<uint64_t> bytes = options.scratch(spec.name, *params, options.threads);
    if (!bytes)
      return op->emitOpError("cannot be planned: ") << llvm::toString(bytes.takeError());
    kernel.scratch = *bytes;
  }
  return kernel;
}

} // namespace cleave::plan
