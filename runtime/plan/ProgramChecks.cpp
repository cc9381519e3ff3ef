#include "runtime/plan/Checks.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/KernelFacts.h"
#include "runtime/plan/KernelOperands.h"

#include <algorithm>

namespace cleave::rt {

Status checkKernels(const fb::Plan &plan) {
  std::vector<Operand> operands;
  for (size_t i = 0; i < lengthOf(plan.kernels()); ++i) {
    const fb::Kernel &kernel = *plan.kernels()->Get(i);
    std::string where = "kernel " + std::to_string(i) + " '" + kernel.name()->str() + "'";
    if (kernel.kind() > fb::KernelKind::MAX || kernel.extent() > uint64_t{1} << 62)
      return badPlan(where + " has no known kind or a wrong extent");
    if (Status status = operandsOf(kernel, &operands); !status.isOk())
      return badPlan(where + ": " + status.message());
    if (kernel.kind() == fb::KernelKind::generated && kernel.facts() != KernelFacts::of(kernel).hash())
      return badPlan(where + ": its extent, operands or dependences are not those that its code was generated for");
  }
  return Status::ok();
}

namespace {

constexpr int64_t kMaxFrame = 1 << 20; // of a call, wait or record; also the most times that a call repeats

// Checks the instructions of one program in list order.
class ProgramChecker {
public:
  ProgramChecker(const fb::Plan &plan, const fb::Program &program)
      : plan_(plan), program_(program), recorded_(program.events(), false) {}

  Status check() {
    CLEAVE_TRY(checkPorts(program_.inputs(), /*isInput=*/true));
    CLEAVE_TRY(checkPorts(program_.outputs(), /*isInput=*/false));
    for (size_t i = 0; i < lengthOf(program_.instructions()); ++i) {
      where_ = "program '" + program_.name()->str() + "', instruction " + std::to_string(i);
      CLEAVE_TRY(checkInstruction(*program_.instructions()->Get(i)));
    }
    CLEAVE_TRY(checkPeaks());
    auto unused = std::find(recorded_.begin(), recorded_.end(), false); // each event takes memory
    return unused == recorded_.end() ? Status::ok()
                                     : badPlan("program '" + program_.name()->str() + "' has event " +
                                               std::to_string(unused - recorded_.begin()) + ", which it never records");
  }

private:
  using Ports = flatbuffers::Vector<flatbuffers::Offset<fb::Port>>;

  Status checkPorts(const Ports *ports, bool isInput) {
    const char *what = isInput ? "input" : "output";
    for (size_t i = 0; i < lengthOf(ports); ++i) {
      const fb::Port &port = *ports->Get(i);
      where_ = "program '" + program_.name()->str() + "', " + what + " '" + port.name()->str() + "'";
      uint64_t bytes = 0;
      if (dtypeSize(port.dtype()) == 0 || !shapeElements(port.shape(), &bytes) ||
          !multiply(&bytes, dtypeSize(port.dtype())))
        return bad("has no valid type");
      if (port.absent()) {
        CLEAVE_TRY(checkDeclared(port));
        continue;
      }
      if (port.region() >= lengthOf(plan_.regions()) ||
          !fits(port.offset(), bytes, plan_.regions()->Get(port.region())->bytes()))
        return bad("lies outside of its region");
      if (port.offset() % dtypeSize(port.dtype()) != 0)
        return bad("is not aligned to its type");
      fb::RegionKind kind = plan_.regions()->Get(port.region())->kind();
      if (kind != (isInput ? fb::RegionKind::input : fb::RegionKind::output))
        return bad(std::string("lies in a region of kind ") + fb::EnumNameRegionKind(kind));
      CLEAVE_TRY(checkDeclared(port));
    }
    return Status::ok();
  }

  // The values of a kind are inside the transient region, so their peak is at most its size.
  Status checkPeaks() {
    uint64_t most = 0;
    for (size_t i = 0; i < lengthOf(plan_.regions()); ++i)
      if (const fb::Region &region = *plan_.regions()->Get(i);
          region.kind() == fb::RegionKind::transient && region.space() == fb::Space::device)
        most = std::max(most, region.bytes());
    for (size_t i = 0; i < lengthOf(program_.peaks()); ++i)
      if (const fb::Peak &peak = *program_.peaks()->Get(i); peak.bytes() > most)
        return badPlan("program '" + program_.name()->str() + "' states a peak of " + std::to_string(peak.bytes()) +
                       " bytes of kind '" + peak.kind()->str() + "'; expected at most the " + std::to_string(most) +
                       " bytes of its transient region");
    return Status::ok();
  }

  // Checks the facts about a port that all kinds of ranks state alike. The host deals samples over the data axes
  // (GlobalTensor).
  Status checkDeclared(const fb::Port &port) {
    if (port.batch_dim() < -1 || port.batch_dim() >= static_cast<int64_t>(lengthOf(port.shape())))
      return bad("has batch dimension " + std::to_string(port.batch_dim()));
    bool hasBatch = port.batch_dim() >= 0;
    if (hasBatch && port.shape()->Get(static_cast<unsigned>(port.batch_dim())) == 0)
      return bad("has a batch of no samples");
    CLEAVE_TRY(checkAxes(plan_, port.split_axes(), where_));
    bool isSplitAsSamples = lengthOf(port.split_axes()) == (hasBatch ? lengthOf(plan_.data_axes()) : 0);
    for (uint32_t i = 0; isSplitAsSamples && i < lengthOf(port.split_axes()); ++i)
      isSplitAsSamples = port.split_axes()->Get(i) == plan_.data_axes()->Get(i);
    return isSplitAsSamples ? Status::ok() : bad("is split over other axes than the samples are");
  }

  Status checkInstruction(const fb::Instruction &instruction) {
    const OpcodeInfo *info = opcodeInfo(instruction.op());
    if (!info)
      return bad("has the unknown opcode " + std::to_string(instruction.op()));
    where_ += " (" + std::string(info->mnemonic) + ")";
    if (instruction.stream() >= lengthOf(plan_.streams()))
      return bad("is on stream " + std::to_string(instruction.stream()));
    if (lengthOf(instruction.fields()) != info->fields.size())
      return bad("expected " + std::to_string(info->fields.size()) +
                 " fields; got: " + std::to_string(lengthOf(instruction.fields())));
    if (!info->anyBuffers && lengthOf(instruction.buffers()) != info->buffers.size())
      return bad("expected " + std::to_string(info->buffers.size()) +
                 " buffers; got: " + std::to_string(lengthOf(instruction.buffers())));
    for (size_t i = 0; i < lengthOf(instruction.buffers()); ++i)
      CLEAVE_TRY(checkBuffer(*instruction.buffers()->Get(i)));
    return checkMeaning(InstructionView(instruction));
  }

  Status checkBuffer(const fb::Buffer &buffer) {
    if (buffer.region() >= lengthOf(plan_.regions()) || buffer.access() > fb::Access::MAX)
      return bad("has a buffer in no region, or with no known access");
    if (buffer.share_of() > lengthOf(plan_.groups()))
      return bad("has a share of group " + std::to_string(buffer.share_of() - 1));
    uint64_t end = 0, size = plan_.regions()->Get(buffer.region())->bytes();
    if (buffer.share_of() != 0)
      end = groupSize(plan_, *plan_.groups()->Get(buffer.share_of() - 1u)) - 1;
    if (!multiply(&end, buffer.stride()) || __builtin_add_overflow(end, buffer.bytes(), &end) ||
        !fits(buffer.offset(), end, size))
      return bad("has a buffer outside of its region");
    // Bytes that do not overlap on one rank must not overlap on any: the shares of two ranks have no bytes in common.
    if (buffer.share_of() != 0 && buffer.bytes() > buffer.stride())
      return bad("has shares of " + std::to_string(buffer.bytes()) + " bytes every " + std::to_string(buffer.stride()) +
                 " bytes");
    return Status::ok();
  }

  Status checkMeaning(const InstructionView &view) {
    switch (view.opcode()) {
    case Opcode::Launch:
      return checkLaunch(view);
    case Opcode::Copy:
      return checkCopy(view.buffer(0), view.buffer(1));
    case Opcode::Fill:
      return checkFill(view);
    case Opcode::Record:
    case Opcode::Wait:
      return checkEvent(view);
    case Opcode::Call:
      return checkCall(view);
    case Opcode::Send:
    case Opcode::Recv:
      return checkTransfer(view);
    case Opcode::AllReduce:
    case Opcode::ReduceScatter:
    case Opcode::AllGather:
    case Opcode::Reduce:
    case Opcode::Broadcast:
      return checkCollective(view);
    }
    return Status::ok();
  }

  Status checkLaunch(const InstructionView &view) {
    if (view["kernel"] < 0 || view["kernel"] >= static_cast<int64_t>(lengthOf(plan_.kernels())))
      return bad("launches kernel " + std::to_string(view["kernel"]) + " of " +
                 std::to_string(lengthOf(plan_.kernels())));
    const fb::Kernel &kernel = *plan_.kernels()->Get(static_cast<unsigned>(view["kernel"]));
    if (Status status = checkBuffers(plan_, kernel, view); !status.isOk())
      return badPlan(where_ + ": " + status.message());
    // A library's kernel is planned for a number of threads, and its order of additions depends on that number. Only
    // the first stream has the compute threads. Generated code computes the same bits with any number of threads.
    if (kernel.kind() != fb::KernelKind::generated && view.stream() != 0)
      return bad("runs kernel " + kernel.name()->str() + " on stream " +
                 plan_.streams()->Get(static_cast<unsigned>(view.stream()))->str() + "; expected " +
                 plan_.streams()->Get(0)->str() + ", the first, which has the threads that it is planned for");
    return Status::ok();
  }

  Status checkCopy(const fb::Buffer &target, const fb::Buffer &source) {
    if (target.bytes() != source.bytes())
      return bad("copies " + std::to_string(source.bytes()) + " bytes to " + std::to_string(target.bytes()));
    if (buffersOverlap(plan_, target, source))
      return bad("copies between overlapping bytes");
    return Status::ok();
  }

  Status checkFill(const InstructionView &view) {
    int64_t width = view["width"];
    if ((width != 1 && width != 2 && width != 4 && width != 8) || view.buffer(0).bytes() % width != 0 ||
        view.buffer(0).offset() % width != 0 || view.buffer(0).stride() % width != 0)
      return bad("fills " + std::to_string(view.buffer(0).bytes()) + " bytes by " + std::to_string(width));
    return Status::ok();
  }

  Status checkEvent(const InstructionView &view) {
    int64_t event = view["event"];
    auto own = static_cast<int64_t>(recorded_.size()), all = own + static_cast<int64_t>(lengthOf(plan_.events()));
    if (event < 0 || event >= all)
      return bad("names event " + std::to_string(event) + " of " + std::to_string(all));
    if (!isFrame(view["frame"]) || (event < own && view["frame"] != 0))
      return bad("names frame " + std::to_string(view["frame"]) +
                 (event < own ? " of an event of the program's own, which has none" : " of an event"));
    if (event >= own) // another program may record it: `cleave verify` proves that
      return Status::ok();
    bool isRecord = view.opcode() == Opcode::Record;
    if (recorded_[event] == isRecord)
      return bad("event " + std::to_string(event) + (isRecord ? " is recorded twice" : " is not recorded before"));
    recorded_[event] = true;
    return Status::ok();
  }

  Status checkCall(const InstructionView &view) {
    if (view["program"] < 0 || view["program"] >= static_cast<int64_t>(lengthOf(plan_.programs())))
      return bad("calls program " + std::to_string(view["program"]));
    // The host alone runs entries. Bodies have rules of their own.
    if (const fb::Program &callee = *plan_.programs()->Get(static_cast<unsigned>(view["program"])); callee.entry())
      return bad("calls " + callee.name()->str() + ", which the host runs; expected a program that is no entry");
    if (view["times"] < 0 || view["times"] > kMaxFrame || !isFrame(view["first_frame"]))
      return bad("calls " + std::to_string(view["times"]) + " times from frame " + std::to_string(view["first_frame"]));
    if (view["skip"] < 0 || view["skip"] > kMaxFrame || !isFrame(frameOfCall(view, view["times"])))
      return bad("leaves out " + std::to_string(view["skip"]) + " frames between one run and the next");
    if (view["counter"] < 0 || view["counter"] > static_cast<int64_t>(fb::Counter::MAX))
      return bad("counts by the unknown counter " + std::to_string(view["counter"]));
    return Status::ok();
  }

  // True if a frame, relative to that of the running program, is within the limits.
  static bool isFrame(int64_t frame) { return frame >= -kMaxFrame && frame <= kMaxFrame; }

  // Checks that `count` elements of `dtype` are the whole buffer `data`.
  Status checkElements(const InstructionView &view, size_t *width, uint64_t *bytes) {
    *width = view["dtype"] < 0 || view["dtype"] > 255 ? 0 : dtypeSize(static_cast<fb::DType>(view["dtype"]));
    if (*width == 0)
      return bad("has no known type");
    *bytes = static_cast<uint64_t>(view["count"]);
    if (view["count"] < 0 || !multiply(bytes, *width))
      return bad("has no valid count; got: " + std::to_string(view["count"]));
    if (view.buffer(0).bytes() != *bytes || view.buffer(0).offset() % *width != 0 ||
        view.buffer(0).stride() % *width != 0)
      return bad("its data must be " + std::to_string(*bytes) + " aligned bytes");
    return Status::ok();
  }

  Status checkTransfer(const InstructionView &view) {
    if (view["axis"] < 0 || view["axis"] >= static_cast<int64_t>(lengthOf(plan_.axes())))
      return bad("names mesh axis " + std::to_string(view["axis"]) + " of " + std::to_string(lengthOf(plan_.axes())));
    int64_t size = plan_.axes()->Get(static_cast<unsigned>(view["axis"]))->size();
    if (view["offset"] <= -size || view["offset"] >= size || view["offset"] == 0)
      return bad("names the rank " + std::to_string(view["offset"]) + " further on an axis of " + std::to_string(size) +
                 " ranks; expected another rank");
    if (view["channel"] < 0 || view["channel"] >= int64_t{kTransferChannels})
      return bad("names channel " + std::to_string(view["channel"]) + " of " + std::to_string(kTransferChannels));
    size_t width = 0;
    uint64_t bytes = 0;
    return checkElements(view, &width, &bytes);
  }

  Status checkCollective(const InstructionView &view) {
    if (view["group"] < 0 || view["group"] >= static_cast<int64_t>(lengthOf(plan_.groups())))
      return bad("names group " + std::to_string(view["group"]));
    if (view["algorithm"] != 0)
      return bad("asks for algorithm " + std::to_string(view["algorithm"]) + "; only 0 (ring) is known");
    uint64_t ranks = groupSize(plan_, *plan_.groups()->Get(static_cast<unsigned>(view["group"])));
    if (view["count"] % static_cast<int64_t>(ranks) != 0)
      return bad("its count " + std::to_string(view["count"]) + " is not a multiple of the group's " +
                 std::to_string(ranks) + " ranks");
    size_t width = 0;
    uint64_t bytes = 0;
    CLEAVE_TRY(checkElements(view, &width, &bytes));
    bool leavesPart = view.opcode() == Opcode::ReduceScatter || view.opcode() == Opcode::Reduce;
    if (leavesPart && view.buffer(0).share_of() != 0)
      return bad("its data is a share already, and would become a part of a share; expected the bytes of all ranks");
    if (view["root"] < 0 || static_cast<uint64_t>(view["root"]) >= ranks)
      return bad("names root " + std::to_string(view["root"]) + " of a group of " + std::to_string(ranks));
    if (fieldIndex(view.opcode(), "reduction") < 0)
      return Status::ok();
    if (ranks > 1 && (view.buffer(1).bytes() < bytes / ranks || view.buffer(1).offset() % width != 0 ||
                      view.buffer(1).stride() % width != 0))
      return bad("its staging must be at least " + std::to_string(bytes / ranks) + " aligned bytes");
    if (view["reduction"] < 0 || view["reduction"] > static_cast<int64_t>(Reduction::Min))
      return bad("asks for the unknown reduction " + std::to_string(view["reduction"]));
    return Status::ok();
  }

  Status bad(const std::string &what) const { return badPlan(where_ + " " + what); }

  const fb::Plan &plan_;
  const fb::Program &program_;
  std::vector<bool> recorded_;
  std::string where_;
};

} // namespace

// Visits calls depth-first. A program that is met again before its visit has ended calls itself.
static Status checkRecursion(const fb::Plan &plan, size_t index, std::vector<char> &mark) {
  constexpr char open = 1, done = 2;
  const fb::Program &program = *plan.programs()->Get(index);
  if (mark[index] == open)
    return badPlan("program '" + program.name()->str() + "' calls itself");
  if (mark[index] == done)
    return Status::ok();
  mark[index] = open;
  for (size_t i = 0; i < lengthOf(program.instructions()); ++i) {
    InstructionView view(*program.instructions()->Get(i));
    if (view.opcode() == Opcode::Call)
      CLEAVE_TRY(checkRecursion(plan, static_cast<size_t>(view["program"]), mark));
  }
  mark[index] = done;
  return Status::ok();
}

Status checkPrograms(const fb::Plan &plan) {
  size_t count = lengthOf(plan.programs());
  if (count > 4096)
    return badPlan("it has " + std::to_string(count) + " programs"); // bounds the recursion below
  for (size_t i = 0; i < count; ++i) {
    const fb::Program &program = *plan.programs()->Get(i);
    if (program.events() > 1u << 24)
      return badPlan("program '" + program.name()->str() + "' has " + std::to_string(program.events()) + " events");
    CLEAVE_TRY(ProgramChecker(plan, program).check());
  }
  std::vector<char> mark(count, 0);
  for (size_t i = 0; i < count; ++i)
    CLEAVE_TRY(checkRecursion(plan, i, mark));
  return Status::ok();
}

} // namespace cleave::rt
