#include "compiler/Inspect/TracedInstructions.h"

#include "compiler/Inspect/Human.h"
#include "compiler/Simulator/Walk.h"
#include "runtime/plan/RankKinds.h"

#include <algorithm>

namespace cleave::view {

using namespace rt;

// A trace names what computes and what talks to other ranks by its note; copies and fills have none there.
static std::string_view boundName(const fb::Plan &kind, const InstructionView &view) {
  bool isLaunch = view.opcode() == Opcode::Launch;
  if ((isLaunch || isCollective(view.opcode()) || isTransfer(view.opcode())) && !view.note().empty())
    return view.note();
  return isLaunch ? textOf(kind.kernels()->Get(static_cast<uint32_t>(view["kernel"]))->name()) : view.info().mnemonic;
}

std::string tracedName(const fb::Plan &kind, const InstructionView &view) {
  std::string text;
  for (char c : boundName(kind, view))
    if (static_cast<unsigned char>(c) >= 0x20) // runtime/base/Trace.cpp leaves control characters away
      text += c;
  return text;
}

namespace {

struct Ran {
  uint32_t program, instruction;
};

// The instructions of a run that spans are of, by stream.
bool instructionsOf(const fb::Plan &kind, uint32_t entry, std::vector<std::vector<Ran>> *streams) {
  streams->assign(lengthOf(kind.streams()), {});
  return plan::walk(kind, entry, [&](const plan::WalkedInstruction &step, const InstructionView &view) {
    bool isSpan = view.opcode() != Opcode::Record && view.opcode() != Opcode::Wait && view.opcode() != Opcode::Call;
    if (isSpan)
      (*streams)[view.stream()].push_back({step.program, step.index});
  });
}

std::vector<std::vector<plan::StreamSpan *>> spansByStream(plan::KindTimeline &timeline, size_t streams) {
  std::vector<std::vector<plan::StreamSpan *>> list(streams);
  for (plan::StreamSpan &span : timeline.spans)
    if (span.stream < streams)
      list[span.stream].push_back(&span);
  for (auto &spans : list)
    std::stable_sort(spans.begin(), spans.end(), [](const auto *a, const auto *b) { return a->start < b->start; });
  return list;
}

Status findOnStream(const fb::Plan &kind, unsigned stream, const std::vector<Ran> &ran,
                    const std::vector<plan::StreamSpan *> &spans) {
  std::string on = " on stream " + kind.streams()->Get(stream)->str();
  for (size_t i = 0; i < std::min(spans.size(), ran.size()); ++i) {
    InstructionView view(*kind.programs()->Get(ran[i].program)->instructions()->Get(ran[i].instruction));
    std::string found = spans[i]->name.substr(0, spans[i]->name.find('\n')), expected = tracedName(kind, view);
    if (found != expected)
      return invalidArgument("the trace is not of this program: number " + countText(i + 1) + on + " is '" +
                             shortName(found, 60) + "', and the plan has '" + shortName(expected, 60) +
                             "'; take the program that wrote the trace");
    spans[i]->program = ran[i].program;
    spans[i]->instruction = ran[i].instruction;
    spans[i]->name.clear();
  }
  if (spans.size() == ran.size())
    return Status::ok();
  return invalidArgument("the step has " + countText(spans.size()) + " spans" + on + ", and the plan " +
                         countText(ran.size()) +
                         " instructions; take the program that wrote the trace, and trace so few steps "
                         "that no event is dropped");
}

} // namespace

Status findInstructions(const fb::Plan &plan, Measured *measured) {
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  for (size_t k = 0; k < kinds.size(); ++k) {
    auto entry = plan::programNamed(*kinds[k], "train_step");
    std::vector<std::vector<Ran>> streams;
    if (!entry)
      return invalidArgument("the plan has no train_step; a traced step is one of a program compiled with --train");
    if (!instructionsOf(*kinds[k], *entry, &streams))
      return invalidArgument("a step has more than " + countText(plan::kMostInstructions) +
                             " instructions, too many to follow");
    auto spans = spansByStream(measured->timeline.kinds[k], streams.size());
    for (unsigned stream = 0; stream < streams.size(); ++stream)
      CLEAVE_TRY(findOnStream(*kinds[k], stream, streams[stream], spans[stream]));
  }
  return Status::ok();
}

} // namespace cleave::view
