#include "compiler/Simulator/InstructionCosts.h"

#include "kernels/convolution/cuda/DnnConvolution.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanSummary.h"
#include "runtime/plan/RankKinds.h"
#include "runtime/plan/TargetFamily.h"

#include <algorithm>

namespace cleave::plan {

using namespace rt;

bool isForGpus(const fb::Plan &plan) { return targetFamily(textOf(plan.target())) == "cuda"; }

namespace {

bool beginsWith(std::string_view text, std::string_view begin) { return text.substr(0, begin.size()) == begin; }

// Integers have the rate of f32. 16-bit numbers are computed in f32, except in products.
std::string vectorType(fb::DType type) { return type == fb::DType::f64 ? "f64" : "f32"; }

std::string productType(const fb::Plan &plan, fb::DType type) {
  bool isSmall = type == fb::DType::bf16 || type == fb::DType::f16;
  if (!isSmall)
    return vectorType(type);
  std::string name = fb::EnumNameDType(type);
  return beginsWith(libraryArithmetic(plan, name), "emulated") ? "f32" : name;
}

struct WorkOf {
  Work work;
  std::string type;
};

WorkOf generatedWork(const fb::Kernel &kernel) {
  for (uint32_t i = 0; i < lengthOf(kernel.operands()); ++i)
    if (kernel.operands()->Get(i)->dtype() == fb::DType::f64)
      return {Work::Vector, "f64"};
  return {Work::Vector, "f32"};
}

// `plan` is the plan of the first kind, which has the properties of all kinds.
WorkOf workOf(const fb::Plan &plan, const fb::Kernel &kernel) {
  if (kernel.kind() == fb::KernelKind::generated)
    return generatedWork(kernel);
  const KernelDef *def = findKernelDef(kernel.name()->string_view());
  KernelArgs args;
  if (!def ||
      !KernelArgs::read(*def, kernel.params() ? kernel.params()->data() : nullptr, lengthOf(kernel.params()), &args)
           .isOk())
    return {Work::Vector, "f32"};
  if (def->work == KernelWork::Product)
    return {Work::Product, productType(plan, args.dtype())};
  if (def->work == KernelWork::Attention)
    return {Work::Attention, productType(plan, args.dtype())};
  // On GPUs, Cleave's own direct kernels compute the convolutions that cuDNN does not accept. They use
  // no tensor cores (kernels/convolution).
  if (def->work == KernelWork::Convolution && (!isForGpus(plan) || DnnConvolution::of(args)))
    return {Work::Product, productType(plan, args.dtype())};
  return {Work::Vector, vectorType(args.dtype())};
}

// The measured rate of a product, a convolution or a pool for its sizes; empty if it was not measured.
std::optional<double> measuredRate(const fb::Kernel &kernel, const std::string &type, const MachineModel &machine) {
  const KernelDef *def = findKernelDef(kernel.name()->string_view());
  KernelArgs args;
  if (!machine.measured || !def ||
      !KernelArgs::read(*def, kernel.params() ? kernel.params()->data() : nullptr, lengthOf(kernel.params()), &args)
           .isOk())
    return std::nullopt;
  auto number = [&](const char *name) { return static_cast<double>(args[name]); };
  auto product = [&](const char *name) {
    double all = 1;
    for (int64_t one : args.list(name))
      all *= static_cast<double>(one);
    return all;
  };
  auto rateOf = [&](const char *variant, const std::vector<double> &sizes) -> std::optional<double> {
    const RateTable *table = machine.measured->table(def->rates, type, variant);
    return table ? std::optional(table->rateAt(sizes)) : std::nullopt;
  };
  switch (def->work) {
  case KernelWork::Convolution: {
    bool isDeep = args["groups"] > 1 && args["groups"] == args["ic"];
    double groups = std::max(number("groups"), 1.0);
    return rateOf(isDeep ? "depthwise" : "plain", {number("ic") / groups, isDeep ? number("oc") : number("oc") / groups,
                                                   product("out"), product("kernel")});
  }
  case KernelWork::Window:
    return rateOf("plain", {product("out"), product("kernel")});
  case KernelWork::Product: {
    bool isTransposedA = !def->hasParam("transpose_a") || args["transpose_a"];
    const char *variant = args["packed_b"] ? "packed" : isTransposedA ? "tn" : args["transpose_b"] ? "nt" : "nn";
    return rateOf(variant, {def->hasParam("batch") ? number("batch") : 1, number("m"), number("n"), number("k")});
  }
  case KernelWork::Vector:
  case KernelWork::Attention:
    break;
  }
  return std::nullopt;
}

KernelCost costOf(const fb::Plan &plan, const fb::Kernel &kernel, const MachineModel &machine) {
  WorkOf work = workOf(plan, kernel);
  KernelCost cost{work.work, work.type, machine.peak(work.work, work.type).value_or(0), 0, 0, Bound::Launch};
  Machine rates = machine.forKernels(work.work, cost.peak);
  bool isLibrary = kernel.kind() != fb::KernelKind::generated && work.work != Work::Attention;
  std::optional<double> measured = isLibrary ? measuredRate(kernel, work.type, machine) : std::nullopt;
  cost.compute = static_cast<double>(kernel.flops()) / measured.value_or(rates.flopsPerSecond);
  return cost;
}

void addMemory(KernelCost &cost, double memory, double launch) {
  double seconds = launch + std::max(cost.compute, memory);
  if (seconds < cost.seconds)
    return;
  cost.seconds = seconds;
  if (std::max(cost.compute, memory) > launch)
    cost.bound = cost.compute > memory ? Bound::Compute : Bound::Memory;
}

// True if some group along `axes` has members on several nodes. first(axis, &coordinate) replaces a rank's coordinate
// by that of the group's first member, and returns false if the rank is in no group.
template <typename First>
bool crossesNodes(const fb::Plan &plan, uint64_t nodeRanks, const std::set<uint32_t> &axes, const First &first) {
  std::vector<uint32_t> mesh = meshOf(plan);
  uint64_t ranks = meshSize(plan);
  if (ranks <= nodeRanks)
    return false;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    std::vector<unsigned> coordinates = meshCoordinates(mesh, rank);
    uint64_t base = 0;
    bool isMember = true;
    for (uint32_t axis = 0; axis < mesh.size(); ++axis) {
      unsigned at = coordinates[axis];
      if (axes.count(axis))
        isMember &= first(axis, &at);
      base = base * mesh[axis] + at;
    }
    if (isMember && base / nodeRanks != rank / nodeRanks)
      return true;
  }
  return false;
}

bool groupCrosses(const fb::Plan &plan, const fb::Group &group, uint64_t nodeRanks) {
  std::set<uint32_t> axes(group.axes()->begin(), group.axes()->end());
  return crossesNodes(plan, nodeRanks, axes, [&](uint32_t axis, unsigned *at) {
    for (uint32_t i = 0; i < lengthOf(group.only()); ++i)
      if (const fb::AxisPlaces &places = *group.only()->Get(i); places.axis() == axis) {
        bool isMember =
            std::find(places.coordinates()->begin(), places.coordinates()->end(), *at) != places.coordinates()->end();
        *at = places.coordinates()->Get(0);
        return isMember;
      }
    *at = 0;
    return true;
  });
}

bool copiesFromHost(const fb::Plan &kind, const InstructionView &view) {
  auto spaceOf = [&](size_t buffer) { return kind.regions()->Get(view.buffer(buffer).region())->space(); };
  return view.opcode() == Opcode::Copy && spaceOf(0) != spaceOf(1);
}

RingCollective ringOf(Opcode opcode) {
  switch (opcode) {
  case Opcode::ReduceScatter:
    return RingCollective::ReduceScatter;
  case Opcode::AllGather:
    return RingCollective::AllGather;
  default: // a reduce and a broadcast take as long (CostModel.h)
    return RingCollective::AllReduce;
  }
}

// True if the plan has an instruction for which `isOne` is true.
template <typename Predicate> bool hasAny(const fb::Plan &kind, const Predicate &isOne) {
  for (uint32_t p = 0; p < lengthOf(kind.programs()); ++p)
    for (uint32_t i = 0; i < lengthOf(kind.programs()->Get(p)->instructions()); ++i)
      if (isOne(InstructionView(*kind.programs()->Get(p)->instructions()->Get(i))))
        return true;
  return false;
}

const char *keyOf(Work work) { return work == Work::Vector ? "vector_flops_per_second" : "product_flops_per_second"; }

} // namespace

InstructionCosts::InstructionCosts(const fb::Plan &plan, const MachineModel &machine) : machine_(machine) {
  for (const fb::Plan *kind : kindsOf(plan)) {
    for (uint32_t i = 0; i < lengthOf(kind->kernels()); ++i)
      kernels_[kind].push_back(costOf(plan, *kind->kernels()->Get(i), machine));
    if (machine.measured)
      traffic_.emplace(kind, TrafficTimes(*kind, *machine.measured));
    addLaunches(*kind);
    for (uint32_t i = 0; i < lengthOf(kind->groups()); ++i)
      crossing_[kind].push_back(groupCrosses(plan, *kind->groups()->Get(i), machine.nodeRanks));
  }
  for (uint32_t axis = 0; axis < lengthOf(plan.axes()); ++axis)
    if (isBetweenNodes(plan, machine, axis))
      crossingAxes_.insert(axis);
}

// Adds the traffic of each kernel's launches. For a kernel that is never launched, uses the bytes that the kernel
// states.
void InstructionCosts::addLaunches(const fb::Plan &kind) {
  std::vector<KernelCost> &costs = kernels_[&kind];
  for (uint32_t p = 0; p < lengthOf(kind.programs()); ++p)
    for (uint32_t i = 0; i < lengthOf(kind.programs()->Get(p)->instructions()); ++i)
      if (InstructionView view(*kind.programs()->Get(p)->instructions()->Get(i)); view.opcode() == Opcode::Launch) {
        auto number = static_cast<uint32_t>(view["kernel"]);
        addMemory(costs[number], memorySeconds(kind, view, kind.kernels()->Get(number)->bytes()),
                  machine_.launchSeconds);
      }
  Machine memory = machine_.forKernels(Work::Vector, 1);
  for (uint32_t i = 0; i < costs.size(); ++i)
    if (costs[i].seconds == 0)
      addMemory(costs[i], static_cast<double>(kind.kernels()->Get(i)->bytes()) / memory.bytesPerSecond,
                machine_.launchSeconds);
}

// The time for the bytes that a launch, a copy or a fill reads and writes.
double InstructionCosts::memorySeconds(const fb::Plan &kind, const InstructionView &view, uint64_t bytes) const {
  if (auto found = traffic_.find(&kind); found != traffic_.end())
    if (std::optional<double> measured = found->second.seconds(view))
      return *measured;
  return static_cast<double>(bytes) / machine_.forKernels(Work::Vector, 1).bytesPerSecond;
}

Machine InstructionCosts::link(bool betweenNodes) const {
  return machine_.forLink(betweenNodes ? machine_.network.value_or(Link()) : machine_.node);
}

double InstructionCosts::collectiveSeconds(const fb::Plan &kind, const InstructionView &view) const {
  auto group = static_cast<unsigned>(view["group"]);
  return ringSeconds(ringOf(view.opcode()), view.buffer(0).bytes(), groupSize(kind, *kind.groups()->Get(group)),
                     link(crossing_.at(&kind)[group]));
}

double InstructionCosts::transferSeconds(const fb::Plan &kind, const InstructionView &view) const {
  Machine between = link(crossingAxes_.count(static_cast<uint32_t>(view["axis"])) != 0);
  return between.linkSeconds + static_cast<double>(view.buffer(0).bytes()) / between.linkBytesPerSecond;
}

double InstructionCosts::seconds(const fb::Plan &kind, const InstructionView &view) const {
  if (view.opcode() == Opcode::Launch) {
    auto number = static_cast<size_t>(view["kernel"]);
    uint64_t bytes = kind.kernels()->Get(static_cast<uint32_t>(number))->bytes();
    return machine_.launchSeconds + std::max(kernel(kind, number).compute, memorySeconds(kind, view, bytes));
  }
  if (copiesFromHost(kind, view)) {
    Machine copy = machine_.forLink(machine_.hostCopy.value_or(Link()));
    return copy.linkSeconds + static_cast<double>(view.buffer(0).bytes()) / copy.linkBytesPerSecond;
  }
  if (view.opcode() == Opcode::Copy) // reads the bytes and writes them
    return machine_.launchSeconds + memorySeconds(kind, view, 2 * view.buffer(0).bytes());
  if (view.opcode() == Opcode::Fill)
    return machine_.launchSeconds + memorySeconds(kind, view, view.buffer(0).bytes());
  if (isTransfer(view.opcode()))
    return transferSeconds(kind, view);
  return isCollective(view.opcode()) ? collectiveSeconds(kind, view) : 0;
}

bool isBetweenNodes(const fb::Plan &plan, const MachineModel &machine, uint32_t axis) {
  return crossesNodes(plan, machine.nodeRanks, {axis}, [](uint32_t, unsigned *at) {
    *at = 0;
    return true;
  });
}

Status checkMachine(const fb::Plan &plan, const MachineModel &machine) {
  std::string_view target = textOf(plan.target());
  if (!machine.targets.empty() && std::none_of(machine.targets.begin(), machine.targets.end(),
                                               [&](const std::string &one) { return beginsWith(target, one); })) {
    std::string targets;
    for (const std::string &one : machine.targets)
      targets += (targets.empty() ? "" : " and ") + one;
    return invalidArgument("the plan is for " + std::string(target) + ", and " + machine.name + " runs plans for " +
                           targets + "; compile it for one of them, or give the file of another machine");
  }
  for (const fb::Plan *kind : kindsOf(plan)) {
    for (uint32_t i = 0; i < lengthOf(kind->kernels()); ++i)
      if (WorkOf work = workOf(plan, *kind->kernels()->Get(i)); !machine.peak(work.work, work.type))
        return invalidArgument(std::string(keyOf(work.work)) + "." + work.type +
                               ": the plan has kernels that compute in " + work.type +
                               ", and the machine says no rate for it; add it");
    if (!machine.hostCopy && hasAny(*kind, [&](const InstructionView &view) { return copiesFromHost(*kind, view); }))
      return invalidArgument(
          "host_copy: the plan copies between the device's memory and the host's, and the machine does not say how "
          "fast; add it");
  }
  if (!machine.network && meshSize(plan) > machine.nodeRanks)
    return invalidArgument("network: the plan is for " + std::to_string(meshSize(plan)) + " ranks, more than the " +
                           std::to_string(machine.nodeRanks) +
                           " of a node, and the machine says no rate between nodes; add it");
  return Status::ok();
}

} // namespace cleave::plan
