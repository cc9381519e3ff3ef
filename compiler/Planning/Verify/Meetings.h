// Which sends meet which receives, over all runs of all entry programs.
//
// What crosses on one channel has one order: the n-th send meets its n-th receive, whichever values they are of. An instruction of a body runs once for each micro-batch, so that it may meet several, and the same ones again.
//
//   stage0: send x, send y, send x, send y     the send of x meets the receive of x alone, that of y the one of y:
//   stage1: recv x, recv y, recv x, recv y     what is known of y says nothing of x
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_MEETINGS_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_MEETINGS_H

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
  std::string tooLong; // an entry program that runs more than is looked at: some meetings are missing then
  std::map<KindRef, std::set<KindRef>> receiversOf; // by send
  std::map<KindRef, std::set<KindRef>> sendersOf;   // by receive
};
// Sends and receives that nothing meets are for KindMatching to tell.
Meetings meetingsOf(const std::vector<const rt::fb::Plan *> &kinds);

} // namespace cleave::plan

#endif
