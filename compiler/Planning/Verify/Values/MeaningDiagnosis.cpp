#include "compiler/Planning/Verify/Values/MeaningDiagnosis.h"

#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/Plan_generated.h"

namespace cleave::plan {

using rt::Opcode;

std::string axesOf(const AxesFacts &axes) {
  std::string text;
  for (char c : axes.names)
    text += c == ',' ? " and " : std::string(1, c);
  return text;
}

static const char *wordOf(int64_t reduction) {
  return reduction == int64_t(rt::Reduction::Sum)   ? "sum"
         : reduction == int64_t(rt::Reduction::Max) ? "maximum"
                                                    : "minimum";
}

static bool reduces(Opcode opcode) { return opcode == Opcode::AllReduce || opcode == Opcode::ReduceScatter; }

static std::string nameOf(const CollectiveFacts &facts) {
  std::string text(rt::opcodeInfo(static_cast<unsigned>(facts.opcode))->mnemonic);
  text += " over " + axesOf(facts.group);
  return reduces(facts.opcode) ? text + " (" + wordOf(facts.reduction) + ")" : text;
}

// A collective makes one new expression, which is one piece. The exception is a broadcast of a value that all ranks
// have: it returns the data as they are.
bool MeaningDiagnosis::isMeant(const CollectiveFacts &facts, const Content &data, bool isNew) const {
  Contribution mine;
  mine.data = data;
  std::optional<Content> made = resultOf(facts, {mine}, 0);
  if (!made || made->pieces().size() != 1)
    return false;
  ValueNumber expression = made->pieces().front().expression;
  return isModels_(expression) && !(isNew && run_.count(expression));
}

// Tries all combinations: 8 for each group and type. The algorithm and the root stay 0, so a collective with others
// gets no explanation. Padding is that of planning: 10 elements over 4 ranks get 2 zeros. Data of an all_gather are one
// rank's part, and its count is that of the whole.
void MeaningDiagnosis::forEach(const Content &data,
                               const std::function<bool(const CollectiveFacts &, const Content &)> &visit) const {
  for (Opcode opcode : {Opcode::AllReduce, Opcode::ReduceScatter, Opcode::AllGather, Opcode::Broadcast})
    for (const AxesFacts &group : groups_)
      for (rt::fb::DType type : rt::fb::EnumValuesDType())
        for (int64_t reduction = 0; reduction < (reduces(opcode) ? 3 : 1); ++reduction) {
          uint64_t width = rt::dtypeSize(type);
          if (group.ranks < 2 || width == 0 || data.bytes() == 0 || data.bytes() % width != 0)
            continue;
          Content padded = data;
          if (uint64_t rest = data.bytes() / width % group.ranks; rest != 0 && opcode != Opcode::AllGather)
            padded.append(Content::repeated(0, width, (group.ranks - rest) * width));
          uint64_t bytes = padded.bytes() * (opcode == Opcode::AllGather ? group.ranks : 1);
          CollectiveFacts facts;
          facts.opcode = opcode;
          facts.group = group;
          facts.dtype = static_cast<int64_t>(type);
          facts.reduction = reduction;
          facts.count = static_cast<int64_t>(bytes / width);
          if (visit(facts, padded))
            return;
        }
}

std::string MeaningDiagnosis::missing(const Content &content) const {
  std::string text;
  forEach(content, [&](const CollectiveFacts &facts, const Content &data) {
    if (!isMeant(facts, data, /*isNew=*/true))
      return false;
    std::string axes = axesOf(facts.group), kind = wordOf(facts.reduction);
    switch (facts.opcode) {
    case Opcode::AllReduce:
      text = "it holds each rank's own term, which was never reduced; expected the " + kind + " over " + axes;
      break;
    case Opcode::ReduceScatter:
      text = "it holds a part of each rank's own term, which was never reduced; expected the rank's part of the " +
             kind + " over " + axes;
      break;
    case Opcode::AllGather:
      text = "it holds the rank's own part; expected the parts of all ranks over " + axes;
      break;
    default:
      text = "it holds what each rank has computed itself; expected the root's over " + axes;
      break;
    }
    text += ": " + std::string(facts.opcode == Opcode::AllReduce || facts.opcode == Opcode::AllGather ? "an " : "a ") +
            nameOf(facts);
    return true;
  });
  return text;
}

std::string MeaningDiagnosis::wrong(const CollectiveFacts &facts, const Content &data) const {
  // Data that a collective over the same group has made need no reduction over it: this one is one too many.
  if (data.pieces().size() == 1)
    if (auto before = run_.find(data.pieces().front().expression);
        before != run_.end() && before->second.group.text == facts.group.text && reduces(facts.opcode))
      return "its data has been reduced over " + axesOf(facts.group) + " before: a collective too many";
  std::string text;
  forEach(data, [&](const CollectiveFacts &other, const Content &padded) {
    if (!isMeant(other, padded, /*isNew=*/false))
      return false;
    text = "it is " + nameOf(facts) + " of " +
           std::string(rt::fb::EnumNameDType(static_cast<rt::fb::DType>(facts.dtype))) + "; the model has " +
           nameOf(other) + " of " + std::string(rt::fb::EnumNameDType(static_cast<rt::fb::DType>(other.dtype))) +
           " there";
    return true;
  });
  return text;
}

} // namespace cleave::plan
