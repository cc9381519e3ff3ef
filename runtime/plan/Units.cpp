#include "runtime/plan/Units.h"

#include "runtime/plan/InstructionView.h"
#include "runtime/plan/KernelDefs.h"

#include <map>
#include <utility>

namespace cleave::rt {
namespace {

// Follows the bytes of units through one program. The order of its list is one in which it may run.
class GatherFinder {
public:
  explicit GatherFinder(std::vector<Unit> &units) : units_(units) {}

  void visit(const fb::Program &program) {
    for (size_t i = 0; i < lengthOf(program.instructions()); ++i) {
      InstructionView view(*program.instructions()->Get(i));
      if (view.opcode() == Opcode::AllGather)
        gather(view);
      else if (view.opcode() == Opcode::Copy || view.opcode() == Opcode::Launch)
        pass(view);
    }
  }

private:
  using Address = std::pair<unsigned, uint64_t>; // region, offset; of a share, the offset of the first rank

  Unit *unitAt(const fb::Buffer &buffer) const {
    for (Unit &unit : units_)
      if (buffer.region() == unit.state->region() && buffer.offset() == unit.state->offset())
        return &unit;
    auto found = passed_.find({buffer.region(), buffer.offset()});
    return found == passed_.end() ? nullptr : found->second;
  }

  void gather(const InstructionView &view) {
    Unit *unit = unitAt(view.buffer(0));
    if (unit && static_cast<uint64_t>(view["count"]) == unit->state->elements())
      unit->bytes = view.buffer(0).bytes();
  }

  // A copy or a cast reads one buffer, and computes everything that it writes from it.
  void pass(const InstructionView &view) {
    const fb::Buffer *read = nullptr;
    size_t reads = 0;
    for (size_t i = 0; i < view.bufferCount(); ++i)
      if (view.buffer(i).access() == fb::Access::read) {
        read = &view.buffer(i);
        ++reads;
      }
    Unit *unit = reads == 1 ? unitAt(*read) : nullptr;
    for (size_t i = 0; i < view.bufferCount(); ++i)
      if (view.buffer(i).access() != fb::Access::read)
        passed_[{view.buffer(i).region(), view.buffer(i).offset()}] = unit;
  }

  std::vector<Unit> &units_;
  std::map<Address, Unit *> passed_;
};

} // namespace

std::vector<Unit> unitsOf(const fb::Plan &plan) {
  std::vector<Unit> units;
  for (size_t i = 0; i < lengthOf(plan.states()); ++i) {
    const fb::State &state = *plan.states()->Get(i);
    if (state.role() == fb::Role::parameter && lengthOf(state.split_axes()) != 0)
      units.push_back({&state, state.elements() * dtypeSize(state.dtype())});
  }
  for (size_t i = 0; i < lengthOf(plan.programs()); ++i)
    GatherFinder(units).visit(*plan.programs()->Get(i));
  return units;
}

} // namespace cleave::rt
