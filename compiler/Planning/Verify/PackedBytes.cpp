#include "compiler/Planning/Verify/PackedBytes.h"

#include "compiler/Planning/Verify/PlanText.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/KernelOperands.h"
#include "runtime/plan/PlanReader.h"

#include <map>
#include <optional>

namespace cleave::plan {

using namespace rt;

namespace {

// The form in which a kernel leaves bytes, or wants them.
struct Form {
  const KernelDef *packer; // matmul_pack_b
  std::vector<int64_t> params;
  bool operator==(const Form &other) const { return packer == other.packer && params == other.params; }
};
struct PackedRange {
  InstructionRef by;
  Form form;
  uint64_t end;
};

std::vector<int64_t> paramsOf(const fb::Kernel &kernel) {
  return kernel.params() ? std::vector<int64_t>(kernel.params()->begin(), kernel.params()->end())
                         : std::vector<int64_t>();
}

// Returns the form that the kernel wants in its operand; nothing if it wants the plain one.
std::optional<Form> wantedForm(const fb::Kernel &kernel, const KernelDef &def, size_t operand) {
  std::vector<int64_t> params = paramsOf(kernel);
  KernelArgs args;
  if (operand >= def.buffers.size() || !KernelArgs::read(def, params, &args).isOk())
    return std::nullopt;
  const KernelDef *packer = packerOf(def, def.buffers[operand]);
  if (!packer || args[def.buffers[operand].packedParam()] == 0)
    return std::nullopt;
  return Form{packer, std::move(params)};
}

class PackedCheck {
public:
  PackedCheck(const fb::Plan &plan, std::vector<Finding> *findings) : plan_(plan), findings_(findings) {}

  void run() {
    for (bool isInit : {true, false})
      for (uint32_t program = 0; program < lengthOf(plan_.programs()); ++program)
        if (isInitProgram(program) == isInit)
          runProgram(program, isInit);
  }

private:
  bool isInitProgram(uint32_t program) const {
    const fb::Program &entry = *plan_.programs()->Get(program);
    return entry.entry() && textOf(entry.name()) == "init";
  }
  bool isKept(unsigned region) const { return plan_.regions()->Get(region)->kind() == fb::RegionKind::persistent; }

  void runProgram(uint32_t program, bool isInit) {
    now_ = atStart_;
    for (uint32_t i = 0; i < lengthOf(plan_.programs()->Get(program)->instructions()); ++i)
      runInstruction({program, i}, isInit);
    for (auto &[place, range] : now_)
      if (isInit && isKept(place.first))
        atStart_.emplace(place, range);
  }

  void runInstruction(InstructionRef ref, bool isInit) {
    InstructionView view = viewOf(plan_, ref);
    const fb::Kernel *kernel = libraryKernelOf(view);
    const KernelDef *def = kernel ? findKernelDef(textOf(kernel->name())) : nullptr;
    bool packs = def && def->packsFor;
    std::optional<PackedRange> moved; // packed bytes that a copy moves
    for (size_t b = 0; b < view.bufferCount() && !packs; ++b)
      if (const fb::Buffer &buffer = view.buffer(b); buffer.bytes() != 0 && reads(buffer.access())) {
        if (view.opcode() == Opcode::Copy)
          moved = wholeRangeOf(buffer);
        if (!moved)
          checkRead(ref, buffer, def ? wantedForm(*kernel, *def, b) : std::nullopt);
      }
    for (size_t b = 0; b < view.bufferCount(); ++b)
      if (const fb::Buffer &buffer = view.buffer(b); buffer.bytes() != 0 && writes(buffer.access()))
        write(ref, buffer, packs && b == 0, isInit);
    if (packs && view.bufferCount() != 0)
      pack(ref, view.buffer(0), {def, paramsOf(*kernel)}, isInit);
    if (moved)
      put(view.buffer(0), {moved->by, moved->form, bufferEnd(plan_, view.buffer(0))});
  }

  const fb::Kernel *libraryKernelOf(const InstructionView &view) const {
    if (view.opcode() != Opcode::Launch)
      return nullptr;
    const fb::Kernel *kernel = plan_.kernels()->Get(static_cast<unsigned>(view["kernel"]));
    return kernel->kind() == fb::KernelKind::generated ? nullptr : kernel;
  }

  // By region and first byte. Ranges do not overlap each other.
  using Ranges = std::map<std::pair<unsigned, uint64_t>, PackedRange>;
  // The first packed range that the buffer overlaps.
  Ranges::iterator firstIn(const fb::Buffer &buffer) {
    auto found = now_.upper_bound({buffer.region(), buffer.offset()});
    if (found != now_.begin())
      if (auto before = std::prev(found);
          before->first.first == buffer.region() && before->second.end > buffer.offset())
        return before;
    bool overlaps =
        found != now_.end() && found->first.first == buffer.region() && found->first.second < bufferEnd(plan_, buffer);
    return overlaps ? found : now_.end();
  }
  // Returns the packed range whose bytes are exactly the buffer's.
  std::optional<PackedRange> wholeRangeOf(const fb::Buffer &buffer) {
    auto found = firstIn(buffer);
    bool isWhole = found != now_.end() && found->first.second == buffer.offset() &&
                   found->second.end == bufferEnd(plan_, buffer) && buffer.share_of() == 0;
    return isWhole ? std::optional<PackedRange>(found->second) : std::nullopt;
  }
  void put(const fb::Buffer &buffer, PackedRange range) {
    now_.insert_or_assign({buffer.region(), buffer.offset()}, std::move(range));
  }

  void checkRead(InstructionRef ref, const fb::Buffer &buffer, const std::optional<Form> &wanted) {
    auto found = firstIn(buffer);
    std::optional<PackedRange> range = wholeRangeOf(buffer);
    if (wanted ? range && range->form == *wanted : found == now_.end())
      return;
    if (found != now_.end())
      return find(ref, buffer,
                  "uses bytes that " + describe(plan_, found->second.by) +
                      " has packed; expected a kernel that reads them as " +
                      std::string(found->second.form.packer->name) + " leaves them");
    find(ref, buffer,
         "wants bytes as " + std::string(wanted->packer->name) +
             " of its parameters leaves them; expected init to pack them");
  }

  // Erases the packed ranges that the buffer overwrites.
  void write(InstructionRef ref, const fb::Buffer &buffer, bool packs, bool isInit) {
    for (auto found = firstIn(buffer); found != now_.end(); found = firstIn(buffer)) {
      if (packs)
        find(ref, buffer, "packs bytes that are packed already; expected each to be packed once");
      else if (isKept(buffer.region()) && !isInit)
        find(ref, buffer,
             "writes bytes that " + describe(plan_, found->second.by) + " has packed; expected them to stay");
      now_.erase(found);
    }
  }

  void pack(InstructionRef ref, const fb::Buffer &buffer, Form form, bool isInit) {
    if (!isInit || buffer.share_of() != 0)
      return find(ref, buffer, "packs bytes; only the program init does, and each rank all of its bytes");
    put(buffer, {ref, std::move(form), bufferEnd(plan_, buffer)});
  }

  void find(InstructionRef ref, const fb::Buffer &buffer, const std::string &what) {
    findings_->push_back(
        {"packed", describe(plan_, ref) + ": " +
                       describeBytes(plan_, buffer.region(), buffer.offset(), bufferEnd(plan_, buffer)) + ": " + what});
  }

  const fb::Plan &plan_;
  std::vector<Finding> *findings_;
  Ranges atStart_, now_; // as init leaves them, and at the current instruction
};

} // namespace

void checkPackedBytes(const fb::Plan &plan, std::vector<Finding> *findings) { PackedCheck(plan, findings).run(); }

} // namespace cleave::plan
