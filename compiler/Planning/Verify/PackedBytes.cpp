#include "compiler/Planning/Verify/PackedBytes.h"

#include "compiler/Planning/Verify/PlanText.h"
#include "runtime/plan/KernelOperands.h"
#include "runtime/plan/PlanReader.h"

#include <algorithm>
#include <map>
#include <optional>

namespace cleave::plan {

using namespace rt;

namespace {

// Bytes as a kernel leaves them, or as one wants them.
struct Form {
  std::string packer; // "matmul_pack_b"
  std::vector<int64_t> params;
  bool operator==(const Form &other) const { return packer == other.packer && params == other.params; }
};
struct PackedRange {
  InstructionRef by;
  Form form;
  uint64_t end;
};

bool isPacker(std::string_view kernel) { return kernel.find("_pack_") != std::string_view::npos; }

std::vector<int64_t> paramsOf(const fb::Kernel &kernel) {
  return kernel.params() ? std::vector<int64_t>(kernel.params()->begin(), kernel.params()->end())
                         : std::vector<int64_t>();
}

// The form that the kernel wants in its operand; nothing where it wants the plain one.
std::optional<Form> wantedForm(const fb::Kernel &kernel, const KernelDef &def, size_t operand) {
  std::vector<int64_t> params = paramsOf(kernel);
  KernelArgs args;
  if (operand >= def.buffers.size() || !KernelArgs::read(def, params, &args).isOk())
    return std::nullopt;
  std::string name(def.buffers[operand].name), param = "packed_" + name;
  bool hasParam = std::any_of(def.params.begin(), def.params.end(),
                              [&](const KernelDef::ParamDef &each) { return each.name == param; });
  if (!hasParam || args[param] == 0)
    return std::nullopt;
  return Form{std::string(def.name) + "_pack_" + name, std::move(params)};
}

class PackedCheck {
public:
  PackedCheck(const fb::Plan &plan, std::vector<Finding> *findings) : plan_(plan), findings_(findings) {}

  void run() {
    forEachInstruction([&](InstructionRef ref) { collect(ref); });
    forEachInstruction([&](InstructionRef ref) {
      InstructionView view = viewOf(plan_, ref);
      for (size_t b = 0; b < view.bufferCount(); ++b)
        if (view.buffer(b).bytes() != 0)
          check(ref, view, b);
    });
  }

private:
  template <typename Use> void forEachInstruction(Use use) {
    for (uint32_t program = 0; program < lengthOf(plan_.programs()); ++program)
      for (uint32_t i = 0; i < lengthOf(plan_.programs()->Get(program)->instructions()); ++i)
        use(InstructionRef{program, i});
  }
  const fb::Kernel *kernelOf(const InstructionView &view) const {
    if (view.opcode() != Opcode::Launch)
      return nullptr;
    const fb::Kernel *kernel = plan_.kernels()->Get(static_cast<unsigned>(view["kernel"]));
    return kernel->kind() == fb::KernelKind::generated ? nullptr : kernel;
  }
  bool isInit(uint32_t program) const {
    const fb::Program &entry = *plan_.programs()->Get(program);
    return entry.entry() && textOf(entry.name()) == "init";
  }

  void collect(InstructionRef ref) {
    InstructionView view = viewOf(plan_, ref);
    const fb::Kernel *kernel = kernelOf(view);
    if (!kernel || !isPacker(textOf(kernel->name())) || view.bufferCount() == 0)
      return;
    const fb::Buffer &buffer = view.buffer(0);
    if (!isInit(ref.program) || buffer.share_of() != 0)
      return find(ref, buffer, "packs bytes; only the program init does, and each rank all of its bytes");
    if (firstIn(buffer) != packed_.end())
      return find(ref, buffer, "packs bytes that are packed already; expected each to be packed once");
    packed_.insert({{buffer.region(), buffer.offset()},
                    {ref, {kernel->name()->str(), paramsOf(*kernel)}, buffer.offset() + buffer.bytes()}});
  }

  // The first packed range that the buffer overlaps. Ranges do not overlap each other.
  using Ranges = std::map<std::pair<unsigned, uint64_t>, PackedRange>;
  Ranges::const_iterator firstIn(const fb::Buffer &buffer) const {
    auto found = packed_.upper_bound({buffer.region(), buffer.offset()});
    if (found != packed_.begin())
      if (auto before = std::prev(found);
          before->first.first == buffer.region() && before->second.end > buffer.offset())
        return before;
    bool overlaps = found != packed_.end() && found->first.first == buffer.region() &&
                    found->first.second < bufferEnd(plan_, buffer);
    return overlaps ? found : packed_.end();
  }

  void check(InstructionRef ref, const InstructionView &view, size_t number) {
    const fb::Buffer &buffer = view.buffer(number);
    const fb::Kernel *kernel = kernelOf(view);
    const KernelDef *def = kernel ? findKernelDef(textOf(kernel->name())) : nullptr;
    std::optional<Form> wanted =
        def && !isPacker(def->name) ? wantedForm(*kernel, *def, number) : std::optional<Form>();
    auto found = firstIn(buffer);
    bool isPacked = found != packed_.end() && !isBefore(ref, found->second.by);
    bool isAsWanted = isPacked && wanted && *wanted == found->second.form && buffer.share_of() == 0 &&
                      buffer.offset() == found->first.second && bufferEnd(plan_, buffer) == found->second.end &&
                      !writes(buffer.access());
    if (isPacked && !isAsWanted)
      return find(ref, buffer,
                  "uses bytes that " + describe(plan_, found->second.by) +
                      " has packed; expected a kernel that reads them as " + found->second.form.packer +
                      " leaves them");
    if (wanted && !isAsWanted)
      find(ref, buffer,
           "wants bytes as " + wanted->packer + " of its parameters leaves them; expected init to pack them");
  }
  // The packing itself, and what init does before.
  static bool isBefore(InstructionRef ref, InstructionRef packing) {
    return ref.program == packing.program && ref.index <= packing.index;
  }

  void find(InstructionRef ref, const fb::Buffer &buffer, const std::string &what) {
    findings_->push_back(
        {"packed", describe(plan_, ref) + ": " +
                       describeBytes(plan_, buffer.region(), buffer.offset(), bufferEnd(plan_, buffer)) + ": " + what});
  }

  const fb::Plan &plan_;
  std::vector<Finding> *findings_;
  Ranges packed_; // by region and first byte
};

} // namespace

void checkPackedBytes(const fb::Plan &plan, std::vector<Finding> *findings) { PackedCheck(plan, findings).run(); }

} // namespace cleave::plan
