#include "runtime/plan/FeedMemory.h"

#include "runtime/plan/InstructionView.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/RankKinds.h"
#include "runtime/plan/TargetFamily.h"

#include <algorithm>
#include <unordered_map>

namespace cleave::rt {

using LastMicroBatches = std::unordered_map<const fb::Program *, int64_t>;

// The last micro-batch for which `program` or a callee runs, if `program` runs in frame 0.
static int64_t lastMicroBatch(const fb::Plan &plan, const fb::Program &program, LastMicroBatches &known) {
  if (auto found = known.find(&program); found != known.end())
    return found->second;
  int64_t last = 0;
  for (size_t i = 0; i < lengthOf(program.instructions()); ++i) {
    InstructionView call(*program.instructions()->Get(i));
    if (call.opcode() != Opcode::Call || call["times"] == 0)
      continue;
    int64_t inCallee = lastMicroBatch(plan, *plan.programs()->Get(static_cast<unsigned>(call["program"])), known);
    bool counts = call["counter"] == static_cast<int64_t>(fb::Counter::micro_batch);
    last = std::max(last, inCallee + (counts ? frameOfCall(call, call["times"] - 1) : 0));
  }
  return known[&program] = last;
}

// Returns for how many frames of inputs the calls of an entry program run, on the kind of ranks with the most.
static int64_t framesOfCalls(const fb::Plan &plan, const fb::Program &program) {
  LastMicroBatches known;
  int64_t frames = 1;
  for (const fb::Plan *kind : kindsOf(plan))
    for (size_t i = 0; i < lengthOf(kind->programs()); ++i)
      if (const fb::Program &own = *kind->programs()->Get(i);
          own.entry() && textOf(own.name()) == textOf(program.name()))
        frames = std::max(frames, lastMicroBatch(*kind, own, known) + 1);
  return frames;
}

unsigned inputFrames(const fb::Plan &plan, const fb::Program &program) {
  unsigned ofStep = std::max(1u, plan.micro_batches());
  if (textOf(program.name()) == "train_step")
    return ofStep;
  return static_cast<unsigned>(std::min<int64_t>(framesOfCalls(plan, program), ofStep));
}

uint64_t feedBytes(const fb::Plan &plan, const fb::Program &program) {
  if (targetFamily(textOf(plan.target())) == "host")
    return 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < lengthOf(program.inputs()); ++i) {
    const fb::Port &port = *program.inputs()->Get(i);
    bytes += port.absent() ? 0 : bytesOfInput(portBytes(port));
  }
  return kBatchesInMemory * inputFrames(plan, program) * bytes;
}

} // namespace cleave::rt
