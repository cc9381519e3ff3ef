// Part of PlanMeaning: explains what is wrong if a plan computes something else than the model.
#include "compiler/Planning/Verify/Values/PlanMeaning.h"

#include "compiler/Planning/Verify/Facts/PlanFacts.h"
#include "runtime/plan/KernelOperands.h"
#include "runtime/plan/RankKinds.h"

namespace cleave::plan {

using namespace rt;

// Looks at the bytes that are read, and at ranges that contain them, for data to which the model applies a collective
// that the plan omits.
std::string PlanMeaning::explainRead(const MeaningDiagnosis &diagnosis, const fb::Buffer &buffer,
                                     const InstructionRun &run) {
  constexpr size_t kMaxEdges = 24;
  const MemoryContents &from = memory(buffer, run);
  bool hasOwn = false;
  if (std::string text = explainParts(diagnosis, from.read(buffer.offset(), bufferEnd(plan_, buffer), &hasOwn));
      !text.empty())
    return text + " before " + describe(plan_, run.ref);
  // A collective often has the data of many values. For example, the update of a parameter reads [256, 512), and the
  // missing all_reduce is one of the bucket [0, 1024). So ranges around the bytes are tried, from each of the nearest
  // beginnings to each of the nearest ends.
  auto [begins, ends] = from.edgesAround(buffer.offset(), bufferEnd(plan_, buffer), kMaxEdges);
  for (uint64_t begin : begins)
    for (uint64_t end : ends) {
      bool hasParts = false;
      std::string text = diagnosis.missing(from.read(begin, end, &hasParts));
      if (!text.empty())
        return text + " of " + describeBytes(plan_, buffer.region(), begin, end) + " is missing before " +
               describe(plan_, run.ref);
    }
  return "";
}

// Looks for parts of a whole that should have been reduced before it was cut.
std::string PlanMeaning::explainParts(const MeaningDiagnosis &diagnosis, const Content &content) const {
  for (const Piece &piece : content.pieces())
    if (auto whole = wholes_.find(piece.expression); whole != wholes_.end())
      if (std::string text = diagnosis.missing(whole->second); !text.empty())
        return text + " is missing";
  return "";
}

void PlanMeaning::explain(const InstructionRun &run) {
  InstructionView view = viewOf(plan_, run.ref);
  MeaningDiagnosis diagnosis(groups_, collectives_,
                             [this](const ValueNumber &expression) { return isModels(expression); });
  if (isCollective(view.opcode()) && stop_.mine.data) {
    why_ = diagnosis.wrong(stop_.facts, *stop_.mine.data);
    if (std::string text = explainParts(diagnosis, *stop_.mine.data); !text.empty())
      why_ = "of its data: " + text + " before it";
  }
  for (size_t i = 0; why_.empty() && i < view.bufferCount(); ++i)
    if (reads(view.buffer(i).access()) && view.buffer(i).bytes() != 0)
      if (std::string text = explainRead(diagnosis, view.buffer(i), run); !text.empty())
        why_ = "of " +
               describeBytes(plan_, view.buffer(i).region(), view.buffer(i).offset(),
                             view.buffer(i).offset() + view.buffer(i).bytes()) +
               ", which it reads: " + text;
}

std::string PlanMeaning::whyNot(const fb::State &state, const ValueNumber &expected) {
  return whyNot(state.region(), state.offset(), state.offset() + stateShardBytes(plan_, state),
                [&](const Content &content) { return content.number() == expected; });
}

std::string PlanMeaning::whyNot(const fb::Port &output, const ValueNumber &expected) {
  PortFacts facts = portFacts(plan_, output);
  return whyNot(output.region(), output.offset(), output.offset() + portBytes(output),
                [&](const Content &content) { return facts.meaningOf(content) == expected; });
}

std::string PlanMeaning::whyNot(unsigned region, uint64_t begin, uint64_t end,
                                const std::function<bool(const Content &)> &isExpected) {
  MemoryContents &from = memory(region, 0);
  bool hasParts = false;
  Content content = from.read(begin, end, &hasParts);
  if (hasParts)
    return "it holds the rank's own part over " + axesText(from.partAxes(begin, end)) +
           "; expected the parts of all ranks: an all_gather over " + axesText(from.partAxes(begin, end)) +
           " is missing";
  // The expected number is known here. So only a collective counts that makes exactly this content.
  MeaningDiagnosis diagnosis(groups_, collectives_, [&](const ValueNumber &expression) {
    return isModels(expression) && isExpected(Content::of(expression, content.bytes()));
  });
  if (std::string text = diagnosis.missing(content); !text.empty())
    return text + " is missing";
  return explainParts(MeaningDiagnosis(groups_, collectives_, [this](const ValueNumber &e) { return isModels(e); }),
                      content);
}

std::string PlanMeaning::axesText(AxisMask axes) const {
  std::string text;
  for (uint32_t axis = 0; axis < lengthOf(plan_.axes()); ++axis)
    if (axes >> axis & 1)
      text += (text.empty() ? "" : " and ") + plan_.axes()->Get(axis)->name()->str();
  return text;
}

} // namespace cleave::plan
