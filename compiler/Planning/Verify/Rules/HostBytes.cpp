#include "compiler/Planning/Verify/Rules/HostBytes.h"

#include "compiler/Planning/Verify/PlanText.h"
#include "compiler/Planning/Verify/Values/PlanMeaning.h"
#include "runtime/plan/KernelOperands.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/RankKinds.h"

#include <map>

namespace cleave::plan {

using namespace rt;

namespace {

class HostBytes {
public:
  HostBytes(const fb::Plan &plan, const fb::Program &entry) : plan_(plan), entry_(entry) {
    for (uint32_t i = 0; i < lengthOf(entry.outputs()); ++i)
      if (const fb::Port &port = *entry.outputs()->Get(i); !port.absent())
        if (uint64_t &end = outputs_[{port.region(), port.offset()}]; end <= port.offset())
          end = port.offset() + portBytes(port);
  }

  // Returns why the entry must not write there; empty if it may.
  std::string why(const fb::Buffer &buffer) const {
    const fb::Region &region = *plan_.regions()->Get(buffer.region());
    if (region.kind() == fb::RegionKind::input)
      return "only the host writes inputs";
    if (region.kind() == fb::RegionKind::snapshot && textOf(entry_.name()) != "snapshot")
      return "a checkpoint may be written from it at that time; only the program snapshot writes there";
    if (region.kind() == fb::RegionKind::output && !isWithinOutput(buffer))
      return "it is no output of " + entry_.name()->str() + ", and the host may take another program's there later";
    return "";
  }

private:
  // Outputs do not share bytes (checkPortRanges).
  bool isWithinOutput(const fb::Buffer &buffer) const {
    auto next = outputs_.upper_bound({buffer.region(), buffer.offset()});
    if (next == outputs_.begin())
      return false;
    auto [place, end] = *std::prev(next);
    return place.first == buffer.region() && bufferEnd(plan_, buffer) <= end;
  }

  const fb::Plan &plan_;
  const fb::Program &entry_;
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> outputs_; // region and first byte -> end
};

} // namespace

void checkHostBytes(const fb::Plan &plan, uint32_t entry, std::vector<Finding> *findings) {
  HostBytes bytes(plan, *plan.programs()->Get(entry));
  std::vector<uint32_t> programs = calledBy(plan, entry);
  programs.push_back(entry);
  for (uint32_t program : programs)
    for (uint32_t i = 0; i < lengthOf(plan.programs()->Get(program)->instructions()); ++i) {
      InstructionView view = viewOf(plan, {program, i});
      for (size_t b = 0; b < view.bufferCount(); ++b) {
        const fb::Buffer &buffer = view.buffer(b);
        if (!writes(buffer.access()) || buffer.bytes() == 0)
          continue;
        if (std::string why = bytes.why(buffer); !why.empty())
          findings->push_back(
              {"port", describe(plan, {program, i}) + " writes " +
                           describeBytes(plan, buffer.region(), buffer.offset(), bufferEnd(plan, buffer)) + ": " +
                           why});
      }
    }
}

} // namespace cleave::plan
