#include "runtime/plan/PlanSummary.h"

#include "runtime/plan/FeedMemory.h"
#include "runtime/plan/InstructionView.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/Properties.h"
#include "runtime/plan/RankKinds.h"
#include "runtime/plan/Traffic.h"

#include <algorithm>
#include <optional>

namespace cleave::rt {

uint64_t sentBytes(const fb::Plan &plan, const InstructionView &view) {
  if (isTransfer(view.opcode()))
    return view.opcode() == Opcode::Send ? view.buffer(0).bytes() : 0;
  const fb::Group &group = *plan.groups()->Get(static_cast<unsigned>(view["group"]));
  uint64_t ranks = groupSize(plan, group);
  uint64_t bytes = static_cast<uint64_t>(view["count"]) * dtypeSize(static_cast<fb::DType>(view["dtype"]));
  bool atRoot = isRoot(plan, group, view["root"]).value_or(true);
  switch (view.opcode()) {
  case Opcode::AllReduce:
    return allReduceBytesSent(bytes, ranks);
  case Opcode::Reduce:
    return reduceBytesSent(bytes, ranks, atRoot);
  case Opcode::Broadcast:
    return broadcastBytesSent(bytes, ranks, atRoot);
  default:
    return scatterBytesSent(bytes, ranks);
  }
}

namespace {

// Computes the sums of each program. The sums of its callees are computed first.
class TrafficCounter {
public:
  explicit TrafficCounter(const fb::Plan &plan) : plan_(plan), done_(lengthOf(plan.programs())) {}

  const ProgramSummary &count(size_t index) {
    if (done_[index])
      return *done_[index];
    const fb::Program &program = *plan_.programs()->Get(index);
    ProgramSummary sum;
    sum.name = program.name()->str();
    sum.entry = program.entry();
    sum.instructions = lengthOf(program.instructions());
    for (size_t i = 0; i < lengthOf(program.peaks()); ++i)
      sum.peaks[program.peaks()->Get(i)->kind()->str()] = program.peaks()->Get(i)->bytes();
    for (size_t i = 0; i < sum.instructions; ++i)
      add(InstructionView(*program.instructions()->Get(i)), &sum);
    done_[index] = std::move(sum);
    return *done_[index];
  }

private:
  void add(const InstructionView &view, ProgramSummary *sum) {
    ++sum->executed;
    if (view.opcode() == Opcode::Call)
      addCall(count(static_cast<size_t>(view["program"])), static_cast<uint64_t>(view["times"]), sum);
    else if (view.opcode() == Opcode::Launch)
      sum->flops += plan_.kernels()->Get(static_cast<unsigned>(view["kernel"]))->flops();
    else if (view.opcode() == Opcode::Copy)
      addCopy(view, sum);
    else if (isCollective(view.opcode()))
      addCollective(view, sum);
    else if (isTransfer(view.opcode()))
      addTransfer(view, sum);
  }

  void addCopy(const InstructionView &view, ProgramSummary *sum) {
    fb::Space target = plan_.regions()->Get(view.buffer(0).region())->space();
    fb::Space source = plan_.regions()->Get(view.buffer(1).region())->space();
    if (target != source)
      (target == fb::Space::host ? sum->copiedOut : sum->copiedIn) += view.buffer(0).bytes();
  }

  void addCall(const ProgramSummary &callee, uint64_t times, ProgramSummary *sum) {
    sum->executed += callee.executed * times;
    sum->sentBytes += callee.sentBytes * times;
    sum->flops += callee.flops * times;
    sum->copiedIn += callee.copiedIn * times;
    sum->copiedOut += callee.copiedOut * times;
    for (const auto &[name, number] : callee.collectives)
      sum->collectives[name] += number * times;
    for (const auto &[group, bytes] : callee.sentByGroup)
      sum->sentByGroup[group] += bytes * times;
    for (const auto &[kind, bytes] : callee.sentByKind)
      sum->sentByKind[kind] += bytes * times;
    for (const auto &[kind, bytes] : callee.peaks) // calls run one after the other
      sum->peaks[kind] = std::max(sum->peaks[kind], bytes);
  }

  void addTransfer(const InstructionView &view, ProgramSummary *sum) {
    uint64_t sent = sentBytes(plan_, view);
    sum->sentBytes += sent;
    sum->sentByGroup[plan_.axes()->Get(static_cast<unsigned>(view["axis"]))->name()->str()] += sent;
    sum->sentByKind[std::string(view.info().mnemonic)] += sent;
    ++sum->collectives[std::string(view.info().mnemonic)];
  }

  void addCollective(const InstructionView &view, ProgramSummary *sum) {
    const fb::Group &group = *plan_.groups()->Get(static_cast<unsigned>(view["group"]));
    uint64_t sent = sentBytes(plan_, view);
    sum->sentBytes += sent;
    sum->sentByGroup[axesText(plan_, group.axes())] += sent;
    sum->sentByKind[std::string(view.info().mnemonic)] += sent;
    ++sum->collectives[std::string(view.info().mnemonic)];
  }

  const fb::Plan &plan_;
  std::vector<std::optional<ProgramSummary>> done_;
};

uint64_t logicalElements(const fb::State &state) {
  uint64_t sum = 0;
  for (size_t i = 0; i < lengthOf(state.segments()); ++i) {
    uint64_t elements = 1;
    const auto *shape = state.segments()->Get(i)->shape();
    for (size_t d = 0; d < lengthOf(shape); ++d)
      elements *= static_cast<uint64_t>(shape->Get(d));
    sum += elements;
  }
  return sum;
}

void addType(std::string *list, const std::string &type) {
  if (("," + *list + ",").find("," + type + ",") == std::string::npos)
    *list += (list->empty() ? "" : ",") + type;
}

// Returns the type in which a library kernel computes, or nothing if that is no floating-point type.
std::optional<fb::DType> typeOf(const fb::Kernel &kernel) {
  const KernelDef *def =
      kernel.kind() == fb::KernelKind::library ? findKernelDef(kernel.name()->string_view()) : nullptr;
  KernelArgs args;
  if (!def || !kernel.params() ||
      !KernelArgs::read(*def, kernel.params()->data(), kernel.params()->size(), &args).isOk() ||
      !isFloating(args.dtype()))
    return std::nullopt;
  return args.dtype();
}

} // namespace

std::string libraryArithmetic(const fb::Plan &plan, const std::string &type) {
  return propertyOf(plan, kKernelsProperties.of(type));
}

// Adds the batches that `train` feeds if there is validation data.
static void addFeeds(const fb::Plan &all, const fb::Plan &kind, PlanSummary &summary) {
  for (size_t i = 0; i < lengthOf(kind.programs()); ++i) {
    const fb::Program &program = *kind.programs()->Get(i);
    bool isStep = textOf(program.name()) == "train_step";
    if (!program.entry() || !(isStep || textOf(program.name()) == "evaluate"))
      continue;
    uint64_t bytes = feedBytes(all, program);
    summary.hostBytes += bytes;
    if (bytes != 0)
      summary.hostByKind[isStep ? "batches" : "validation batches"] = bytes;
  }
}

static PlanSummary summarizeKind(const fb::Plan &all, const fb::Plan &plan) {
  PlanSummary summary;
  summary.ranks = meshSize(plan);
  summary.kind = textOf(plan.kind());
  summary.ranksOfKind = ranksOfKind(plan);
  summary.outside = outsideMemory(plan);
  for (size_t i = 0; i < lengthOf(plan.regions()); ++i) {
    const fb::Region &region = *plan.regions()->Get(i);
    bool isHost = region.space() == fb::Space::host;
    uint64_t bytes = region.bytes() * region.frames();
    (isHost ? summary.hostByKind : summary.bytesByKind)[fb::EnumNameRegionKind(region.kind())] += bytes;
    (isHost ? summary.hostBytes : summary.totalBytes) += bytes;
  }
  for (size_t i = 0; i < lengthOf(plan.states()); ++i) {
    const fb::State &state = *plan.states()->Get(i);
    summary.bytesByRole[fb::EnumNameRole(state.role())] += stateShardBytes(plan, state);
    if (plan.regions()->Get(state.region())->space() == fb::Space::host)
      summary.hostByRole[fb::EnumNameRole(state.role())] += stateShardBytes(plan, state);
    summary.wholeByRole[fb::EnumNameRole(state.role())] += state.elements() * dtypeSize(state.dtype());
    if (isFloating(state.dtype()))
      addType(&summary.typesByRole[fb::EnumNameRole(state.role())], fb::EnumNameDType(state.dtype()));
  }
  for (size_t i = 0; i < lengthOf(plan.kernels()); ++i) {
    ++summary.kernels[fb::EnumNameKernelKind(plan.kernels()->Get(i)->kind())];
    if (std::optional<fb::DType> type = typeOf(*plan.kernels()->Get(i)))
      ++summary.libraryByType[fb::EnumNameDType(*type)];
  }
  addFeeds(all, plan, summary);
  TrafficCounter counter(plan);
  for (size_t i = 0; i < lengthOf(plan.programs()); ++i)
    summary.programs.push_back(counter.count(i));
  return summary;
}

PlanSummary summarize(const fb::Plan &plan) {
  PlanSummary summary = summarizeKind(plan, plan);
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  for (size_t i = 1; i < kinds.size(); ++i)
    summary.others.push_back(summarizeKind(plan, *kinds[i]));
  // Parameters that only ranks of another kind have are counted too.
  for (const KindState &each : statesOf(plan))
    if (each.state->role() == fb::Role::parameter)
      summary.parameters += logicalElements(*each.state);
  return summary;
}

const PlanSummary &largestKind(const PlanSummary &summary) {
  const PlanSummary *largest = &summary;
  for (const PlanSummary &other : summary.others)
    if (other.totalBytes > largest->totalBytes)
      largest = &other;
  return *largest;
}

} // namespace cleave::rt
