#include "compiler/Planning/Liveness.h"

#include <algorithm>
#include <map>

namespace cleave::plan {

// The position of the first stream's record that `stream` has last waited for before `at`; 0 when there is none.
static size_t lastJoinBefore(const std::vector<Step> &steps, size_t at) {
  unsigned stream = steps[at].stream;
  for (size_t i = at; i-- > 0;) {
    if (steps[i].kind != StepKind::Wait || steps[i].stream != stream)
      continue;
    for (size_t record = i; record-- > 0;)
      if (steps[record].kind == StepKind::Record && steps[record].event == steps[i].event) {
        if (steps[record].stream == kComputeStream)
          return record;
        break;
      }
  }
  return 0;
}

// The position where the first stream waits for an event that the stream of `at` records behind it; the end when it
// never does.
static size_t nextJoinAfter(const std::vector<Step> &steps, size_t at) {
  std::map<unsigned, bool> behind;
  for (size_t i = at + 1; i < steps.size(); ++i) {
    if (steps[i].kind == StepKind::Record && steps[i].stream == steps[at].stream)
      behind[steps[i].event] = true;
    if (steps[i].kind == StepKind::Wait && steps[i].stream == kComputeStream && behind.count(steps[i].event))
      return i;
  }
  return steps.size() - 1;
}

std::vector<std::optional<Span>> liveSpans(const std::vector<Step> &steps, size_t roots) {
  std::vector<std::optional<Span>> spans(roots);
  for (size_t at = 0; at < steps.size(); ++at) {
    if (steps[at].uses.empty())
      continue;
    bool onCompute = steps[at].stream == kComputeStream;
    Span use{onCompute ? at : lastJoinBefore(steps, at), onCompute ? at : nextJoinAfter(steps, at)};
    for (const RootUse &touched : steps[at].uses) {
      std::optional<Span> &span = spans[touched.root];
      span = span ? Span{std::min(span->first, use.first), std::max(span->last, use.last)} : use;
    }
  }
  return spans;
}

} // namespace cleave::plan
