#include "runtime/plan/PlanPrinter.h"

#include "runtime/base/Hash.h"
#include "runtime/base/Printable.h"
#include "runtime/plan/InstructionView.h"
#include "runtime/plan/Properties.h"
#include "runtime/plan/RankKinds.h"

#include <iomanip>
#include <sstream>

namespace cleave::rt {

namespace {

using Axes = flatbuffers::Vector<uint32_t>;

std::string hex(uint64_t value) {
  std::ostringstream text;
  text << "0x" << std::hex << value;
  return text.str();
}

// Quoted, with control characters and quotes escaped: names come from models.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return printable(result) + "\"";
}

std::string nameOf(const flatbuffers::String *name) { return printName(textOf(name)); }

class Printer {
public:
  explicit Printer(const fb::Plan &plan) : plan_(plan) {}

  std::string print() {
    if (!textOf(plan_.kind()).empty())
      out_ << "kind " << describeKind(plan_) << "\n";
    header();
    for (size_t i = 0; i < lengthOf(plan_.regions()); ++i)
      region(*plan_.regions()->Get(i));
    events();
    for (size_t i = 0; i < lengthOf(plan_.groups()); ++i)
      group(i);
    for (size_t i = 0; i < lengthOf(plan_.param_groups()); ++i) {
      const fb::ParamGroup &group = *plan_.param_groups()->Get(i);
      out_ << "param_group " << quoted(textOf(group.name())) << " lr_scale " << group.lr_scale() << " weight_decay "
           << group.weight_decay() << "\n";
    }
    for (size_t i = 0; i < lengthOf(plan_.states()); ++i)
      state(*plan_.states()->Get(i));
    for (size_t i = 0; i < lengthOf(plan_.kernels()); ++i)
      kernel(i);
    for (size_t i = 0; i < lengthOf(plan_.programs()); ++i)
      program(*plan_.programs()->Get(i));
    return out_.str();
  }

  std::string instruction(const fb::Program &program, const fb::Instruction &encoded) {
    ownEvents_ = program.events();
    InstructionView view(encoded);
    out_ << view.info().mnemonic;
    size_t fieldsPrinted = 0;
    if (view.opcode() == Opcode::Launch) {
      out_ << " " << kernelName(static_cast<size_t>(view["kernel"]));
      fieldsPrinted = 1;
    } else if (view.opcode() == Opcode::Call) {
      out_ << " @" << nameOf(plan_.programs()->Get(static_cast<unsigned>(view["program"]))->name());
      fieldsPrinted = 1;
    }
    out_ << " stream " << nameOf(plan_.streams()->Get(view.stream()));
    for (size_t i = 0; i < view.bufferCount(); ++i)
      buffer(view.buffer(i));
    for (size_t i = fieldsPrinted; i < view.info().fields.size(); ++i)
      if (!isUnsaid(view, view.info().fields[i]))
        field(view, view.info().fields[i]);
    if (!view.note().empty())
      out_ << " // " << quoted(view.note());
    if (const fb::Reason *reason = view.reason())
      out_ << " // tensor " << quoted(textOf(reason->tensor())) << " made " << quoted(textOf(reason->made()))
           << " used " << quoted(textOf(reason->used()));
    return out_.str();
  }

private:
  void header() {
    out_ << "plan format " << plan_.format() << " instruction_set " << hex(plan_.instruction_set()) << " kernel_set "
         << hex(plan_.kernel_set()) << " state_layout " << hex(plan_.state_layout()) << "\n";
    out_ << "target " << quoted(textOf(plan_.target())) << " threads " << plan_.threads() << "\n";
    out_ << "batch " << plan_.batch() << " micro_batches " << plan_.micro_batches()
         << axes(" data_axes", plan_.data_axes()) << "\n";
    for (size_t i = 0; i < lengthOf(plan_.axes()); ++i)
      out_ << "axis " << nameOf(plan_.axes()->Get(i)->name()) << " " << plan_.axes()->Get(i)->size() << "\n";
    out_ << "streams";
    for (size_t i = 0; i < lengthOf(plan_.streams()); ++i)
      out_ << " " << nameOf(plan_.streams()->Get(i));
    out_ << "\n";
    forEachProperty(plan_, [&](std::string_view key, std::string_view text) {
      out_ << "property " << printName(key) << " " << quoted(text) << "\n";
    });
  }

  void region(const fb::Region &region) {
    out_ << "region " << nameOf(region.name()) << " " << fb::EnumNameRegionKind(region.kind())
         << (region.space() == fb::Space::host ? " host" : "") << " bytes " << region.bytes() << " frames "
         << region.frames() << follows(region.counter()) << "\n";
  }

  void group(size_t index) {
    const fb::Group &group = *plan_.groups()->Get(index);
    out_ << "group " << index << axes(" over", group.axes());
    for (size_t i = 0; i < lengthOf(group.only()); ++i) {
      out_ << " only " << nameOf(plan_.axes()->Get(group.only()->Get(i)->axis())->name()) << " ";
      shape(group.only()->Get(i)->coordinates());
    }
    out_ << "\n";
  }

  void events() {
    for (uint32_t i = 0; i < lengthOf(plan_.events()); ++i)
      out_ << "event plan." << i << " frames " << plan_.events()->Get(i)->frames()
           << follows(plan_.events()->Get(i)->counter()) << "\n";
  }

  // The counter is not printed if it is micro-batches, as it is for most regions and events.
  static std::string follows(fb::Counter counter) {
    return counter == fb::Counter::micro_batch ? "" : std::string(" counter ") + fb::EnumNameCounter(counter);
  }

  void state(const fb::State &state) {
    out_ << "state @" << nameOf(state.name()) << " " << fb::EnumNameRole(state.role());
    if (!textOf(state.slot()).empty())
      out_ << " slot " << nameOf(state.slot());
    out_ << " " << fb::EnumNameDType(state.dtype()) << "[" << state.elements() << "] at " << regionName(state.region())
         << "[" << hex(state.offset()) << "]" << axes(" split", state.split_axes())
         << axes(" partial", state.partial_axes()) << "\n";
    for (size_t i = 0; i < lengthOf(state.segments()); ++i)
      segment(*state.segments()->Get(i));
  }

  void segment(const fb::Segment &segment) {
    out_ << "  segment " << quoted(textOf(segment.name())) << " ";
    shape(segment.shape());
    out_ << " at " << segment.offset() << " group " << segment.group() << " init "
         << fb::EnumNameInitKind(segment.init());
    if (segment.init() == fb::InitKind::constant)
      out_ << " " << segment.value();
    if (segment.init() == fb::InitKind::coordinate)
      out_ << " " << nameOf(plan_.axes()->Get(segment.axis())->name());
    if (!textOf(segment.source()).empty())
      out_ << " from " << quoted(textOf(segment.source()));
    for (size_t i = 0; i < lengthOf(segment.aliases()); ++i)
      out_ << " alias " << quoted(textOf(segment.aliases()->Get(i)));
    out_ << "\n";
  }

  void kernel(size_t index) {
    const fb::Kernel &kernel = *plan_.kernels()->Get(index);
    out_ << "kernel " << kernelName(index) << " " << fb::EnumNameKernelKind(kernel.kind());
    if (kernel.kind() == fb::KernelKind::generated)
      out_ << " code " << hex(kernel.code()) << " extent " << kernel.extent();
    out_ << " flops " << kernel.flops() << " bytes " << kernel.bytes() << " params ";
    shape(kernel.params());
    if (lengthOf(kernel.depends()) != 0) {
      out_ << " depends ";
      shape(kernel.depends());
    }
    operands(kernel);
    out_ << "\n";
  }

  void operands(const fb::Kernel &kernel) {
    for (size_t i = 0; i < lengthOf(kernel.operands()); ++i) {
      const fb::Operand &operand = *kernel.operands()->Get(static_cast<unsigned>(i));
      out_ << (i ? ", " : " operands [") << access(operand.access()) << " " << operand.bytes() << " "
           << fb::EnumNameDType(operand.dtype());
      if (operand.over() != 0)
        out_ << " over " << operand.over() - 1u;
    }
    out_ << (lengthOf(kernel.operands()) ? "]" : "");
  }

  void program(const fb::Program &program) {
    out_ << "program @" << nameOf(program.name()) << (program.entry() ? " entry" : "") << " events " << program.events()
         << " {\n";
    for (size_t i = 0; i < lengthOf(program.inputs()); ++i)
      port("input", *program.inputs()->Get(i));
    for (size_t i = 0; i < lengthOf(program.outputs()); ++i)
      port("output", *program.outputs()->Get(i));
    for (size_t i = 0; i < lengthOf(program.instructions()); ++i)
      out_ << "  " << Printer(plan_).instruction(program, *program.instructions()->Get(i)) << "\n";
    out_ << "}\n";
  }

  void port(const char *what, const fb::Port &port) {
    out_ << "  " << what << " %" << nameOf(port.name()) << " " << fb::EnumNameDType(port.dtype());
    shape(port.shape());
    if (port.absent()) {
      out_ << " absent\n";
      return;
    }
    out_ << " at " << regionName(port.region()) << "[" << hex(port.offset()) << "]";
    if (port.batch_dim() >= 0)
      out_ << " batch_dim " << port.batch_dim() << axes(" split", port.split_axes());
    out_ << "\n";
  }

  void buffer(const fb::Buffer &buffer) {
    out_ << " " << access(buffer.access()) << " " << regionName(buffer.region()) << "[" << hex(buffer.offset());
    if (buffer.share_of() != 0)
      out_ << "+group" << buffer.share_of() - 1u << "*" << hex(buffer.stride());
    out_ << ":" << buffer.bytes();
    if (buffer.frame() != 0)
      out_ << " frame " << relative(buffer.frame());
    out_ << "]";
  }

  // True for a field that is not printed because it has its default: the program's own frame, the counter of
  // micro-batches, no skipped frames.
  static bool isUnsaid(const InstructionView &view, std::string_view name) {
    return (name == "frame" || name == "counter" || name == "skip") && view[name] == 0;
  }
  static std::string relative(int64_t frame) { return (frame < 0 ? "" : "+") + std::to_string(frame); }

  void field(const InstructionView &view, std::string_view name) {
    out_ << " " << name << " ";
    if (name == "frame" || name == "offset")
      out_ << relative(view[name]);
    else if (name == "counter")
      out_ << fb::EnumNameCounter(static_cast<fb::Counter>(view[name]));
    else if (name == "axis")
      out_ << nameOf(plan_.axes()->Get(static_cast<unsigned>(view[name]))->name());
    else if (name == "event" && view[name] >= ownEvents_)
      out_ << "plan." << view[name] - ownEvents_;
    else if (name == "dtype")
      out_ << fb::EnumNameDType(static_cast<fb::DType>(view[name]));
    else if (name == "pattern")
      out_ << hex(static_cast<uint64_t>(view[name]));
    else
      out_ << view[name];
  }

  template <typename Vector> void shape(const Vector *values) {
    out_ << "[";
    for (size_t i = 0; i < lengthOf(values); ++i)
      out_ << (i ? "," : "") << values->Get(i);
    out_ << "]";
  }

  std::string axes(const char *what, const Axes *indices) {
    std::string text;
    for (size_t i = 0; i < lengthOf(indices); ++i)
      text += (i ? "," : std::string(what) + " ") + nameOf(plan_.axes()->Get(indices->Get(i))->name());
    return text;
  }

  static const char *access(fb::Access access) {
    static const char *const modes[] = {"r", "w", "rw"};
    return modes[static_cast<int>(access)];
  }
  std::string regionName(unsigned index) const { return nameOf(plan_.regions()->Get(index)->name()); }
  std::string kernelName(size_t index) const {
    return "@" + nameOf(plan_.kernels()->Get(index)->name()) + "." + std::to_string(index);
  }

  const fb::Plan &plan_;
  std::ostringstream out_;
  int64_t ownEvents_ = 0; // the number of events of the program whose instructions are printed
};

} // namespace

std::string printName(std::string_view name) {
  bool isPlain = !name.empty() && name.find_first_of(" \"\\") == std::string_view::npos && printable(name) == name;
  return isPlain ? std::string(name) : quoted(name);
}

std::string printPlan(const fb::Plan &plan) {
  std::string text;
  for (const fb::Plan *kind : kindsOf(plan))
    text += Printer(*kind).print();
  return text;
}

std::string planFingerprint(const fb::Plan &plan) {
  std::ostringstream digits;
  digits << std::hex << std::setw(16) << std::setfill('0') << fnv1a(printPlan(plan));
  return digits.str();
}

} // namespace cleave::rt
