// Finds which sends meet which receives, over all runs of all entry programs.
//
// The messages of one channel have one order: the n-th send meets the n-th receive, whichever values they carry. An
// instruction of a body runs once for each micro-batch, so it may meet several instructions, and the same ones again.
//
//   stage0: send x, send y, send x, send y     the send of x meets only the receive of x, and that of y only that of y:
//   stage1: recv x, recv y, recv x, recv y     what is known of y says nothing about x
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_ORDER_MEETINGS_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_ORDER_MEETINGS_H

#include "compiler/Planning/Verify/PlanText.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace cleave::plan {

// An instruction of a kind's plan.
struct KindRef {
  size_t kind = 0;
  std::pair<uint32_t, uint32_t> at; // program, index
  bool operator<(const KindRef &other) const { return kind != other.kind ? kind < other.kind : at < other.at; }
};

struct Meetings {
  std::string tooLong; // an entry program that runs more than is examined; some meetings are missing then
  std::map<KindRef, std::set<KindRef>> receiversOf; // by send
  std::map<KindRef, std::set<KindRef>> sendersOf;   // by receive
};
// KindMatching reports sends and receives that nothing meets.
Meetings meetingsOf(const std::vector<const rt::fb::Plan *> &kinds);

} // namespace cleave::plan

#endif
