#include "runtime/session/ProgramBatch.h"

#include "runtime/device/Rank.h"
#include "runtime/plan/InstructionView.h"
#include "runtime/plan/RankKinds.h"

#include <algorithm>
#include <unordered_map>

namespace cleave::rt {

Status programBatch(const fb::Program &program, uint64_t *batch) {
  const fb::Port *first = nullptr;
  for (const auto *ports : {program.inputs(), program.outputs()})
    for (size_t i = 0; i < lengthOf(ports); ++i) {
      const fb::Port *port = ports->Get(i);
      if (port->batch_dim() != 0 || lengthOf(port->shape()) == 0)
        continue;
      if (first && port->shape()->Get(0) != first->shape()->Get(0))
        return internal("'" + first->name()->str() + "' has " + std::to_string(first->shape()->Get(0)) +
                        " samples and '" + port->name()->str() + "' " + std::to_string(port->shape()->Get(0)));
      first = port;
    }
  *batch = first ? static_cast<uint64_t>(std::max<int64_t>(1, first->shape()->Get(0))) : 1;
  return Status::ok();
}

using LastMicroBatches = std::unordered_map<const fb::Program *, int64_t>;

// The last micro-batch of a program that runs in frame 0, callees included.
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

unsigned inputFrames(const fb::Plan &plan, const fb::Program &program) {
  LastMicroBatches known;
  int64_t frames = 1;
  for (const fb::Plan *kind : kindsOf(plan))
    if (const fb::Program *own = findProgram(*kind, textOf(program.name())))
      frames = std::max(frames, lastMicroBatch(*kind, *own, known) + 1);
  return static_cast<unsigned>(std::min<int64_t>(frames, std::max(1u, plan.micro_batches())));
}

} // namespace cleave::rt
