#include "compiler/Planning/Verify/Order/Meetings.h"

#include "compiler/Planning/Verify/Order/EntryGraph.h"

#include <algorithm>

namespace cleave::plan {

using namespace rt;

static void addMeetings(const EntryGraph &graph, Meetings &meetings) {
  auto refOf = [&](size_t node) {
    InstructionRef ref = graph.nodes()[node].ref;
    return KindRef{graph.kindOf(node), {ref.program, ref.index}};
  };
  graph.forEachMeeting([&](const TransferChannel &, const std::vector<size_t> &sent, const std::vector<size_t> &taken) {
    for (size_t i = 0; i < std::min(sent.size(), taken.size()); ++i) {
      meetings.receiversOf[refOf(sent[i])].insert(refOf(taken[i]));
      meetings.sendersOf[refOf(taken[i])].insert(refOf(sent[i]));
    }
  });
}

Meetings meetingsOf(const std::vector<const fb::Plan *> &kinds) {
  Meetings meetings;
  if (std::none_of(kinds.begin(), kinds.end(), [](const fb::Plan *kind) { return hasTransfers(*kind); }))
    return meetings;
  for (uint32_t i = 0; i < lengthOf(kinds[0]->programs()); ++i) {
    const fb::Program &program = *kinds[0]->programs()->Get(i);
    if (!program.entry())
      continue;
    EntryGraph graph(kinds, isTransfer);
    for (size_t kind = 0; kind < kinds.size(); ++kind)
      if (std::optional<uint32_t> same = programOf(*kinds[kind], textOf(program.name())))
        if (!graph.add(kind, *same))
          meetings.tooLong = textOf(program.name());
    addMeetings(graph, meetings);
  }
  return meetings;
}

} // namespace cleave::plan
