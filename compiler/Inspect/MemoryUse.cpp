#include "compiler/Inspect/MemoryUse.h"

#include "compiler/Inspect/Human.h"
#include "compiler/Inspect/Traffic.h"
#include "compiler/Support/NodeNote.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/RankKinds.h"
#include "runtime/plan/ScalarNames.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace cleave::view {

using namespace rt;

const char *wordsFor(ValueUse use) {
  switch (use) {
  case ValueUse::Value:
    return "value";
  case ValueUse::Saved:
    return "saved for the backward pass";
  case ValueUse::Gathered:
    return "gathered weights";
  case ValueUse::Fetched:
    return "copied from host memory";
  case ValueUse::Unreduced:
    return "not yet reduced";
  case ValueUse::Received:
    return "received";
  case ValueUse::Scratch:
    return "scratch";
  }
  return "";
}

const char *wordsFor(Pass pass) {
  switch (pass) {
  case Pass::Unknown:
    return "";
  case Pass::Forward:
    return "forward pass";
  case Pass::Backward:
    return "backward pass";
  case Pass::Update:
    return "update";
  }
  return "";
}

Pass MemoryUse::passAt(size_t instruction) const {
  if (instruction >= updateAt)
    return Pass::Update;
  const BodyRun *body = bodyAt(instruction);
  return body ? body->passAt(instruction) : Pass::Unknown;
}

uint64_t MemoryUse::totalAt(size_t slice) const {
  return std::accumulate(peaks[slice].begin(), peaks[slice].end(), uint64_t{0});
}

std::vector<LiveValue> MemoryUse::aliveAt(size_t instruction) const {
  std::vector<LiveValue> alive;
  // In order of birth, so parts of one value are neighbours, apart from other values of the same instruction.
  for (const LiveValue &value : values) {
    if (value.born > instruction || value.last < instruction)
      continue;
    auto isSame = [&](const LiveValue &other) { return other.born == value.born && other.buffer == value.buffer; };
    auto first = alive.end();
    while (first != alive.begin() && std::prev(first)->born == value.born)
      --first;
    auto part = std::find_if(first, alive.end(), isSame);
    if (part == alive.end())
      alive.push_back(value);
    else
      part->bytes += value.bytes;
  }
  std::stable_sort(alive.begin(), alive.end(),
                   [](const LiveValue &a, const LiveValue &b) { return a.bytes > b.bytes; });
  return alive;
}

const BodyRun *MemoryUse::bodyAt(size_t instruction) const {
  const BodyRun *found = nullptr;
  for (const BodyRun &body : bodies) // callers come before their callees, whose ranges are narrower
    if (body.first <= instruction && instruction <= body.last)
      found = &body;
  return found;
}

namespace {

class UseBuilder {
public:
  UseBuilder(const fb::Plan &kind, uint32_t entry) : kind_(kind), addresses_(kind), regions_(lengthOf(kind.regions())) {
    for (uint32_t i = 0; i < regions_.size(); ++i) {
      const fb::Region &region = *kind.regions()->Get(i);
      if (region.space() == fb::Space::host)
        continue;
      auto at = static_cast<size_t>(region.kind());
      use_.planned[at] += region.bytes() * region.frames();
      if (isOfHost(region.kind()))
        use_.always[at] += region.bytes() * region.frames();
    }
    use_.allInstructions = plan::instructionsOf(kind, entry);
    plan::walk(kind, entry, [&](const plan::WalkedInstruction &instruction, const InstructionView &view) {
      visit(instruction, view);
    });
    for (auto &region : regions_)
      for (auto &[begin, piece] : region)
        end(piece, piece.end - begin);
    findSaved();
    std::stable_sort(use_.values.begin(), use_.values.end(),
                     [](const LiveValue &a, const LiveValue &b) { return a.born < b.born; });
  }

  MemoryUse take(size_t slices) {
    slice(std::max<size_t>(1, std::min(slices, use_.instructions)));
    return std::move(use_);
  }

private:
  struct Piece {
    uint64_t end;
    LiveValue value; // `bytes` is not yet known
  };
  using Pieces = std::map<uint64_t, Piece>; // by their begin

  bool isCounted(unsigned region) const {
    const fb::Region &info = *kind_.regions()->Get(region);
    return info.space() == fb::Space::device && !isOfHost(info.kind());
  }

  void visit(const plan::WalkedInstruction &instruction, const InstructionView &view) {
    use_.instructions = instruction.number + 1;
    bodyOf_.push_back(static_cast<uint32_t>(instruction.body));
    if (use_.bodies.size() <= instruction.body)
      use_.bodies.resize(instruction.body + 1, {instruction.program, instruction.frames.of(fb::Counter::micro_batch),
                                                instruction.number, instruction.number, kNever});
    BodyRun &body = use_.bodies[instruction.body];
    if (body.last < instruction.number && body.program == instruction.program)
      body.last = instruction.number;
    newestRead_ = kNever;
    for (size_t i = 0; i < view.bufferCount(); ++i)
      if (view.buffer(i).access() != fb::Access::write && isCounted(view.buffer(i).region()))
        read(instruction, view, addresses_.of(view.buffer(i), instruction.frames));
    for (size_t i = 0; i < view.bufferCount(); ++i)
      if (view.buffer(i).access() != fb::Access::read && isCounted(view.buffer(i).region()))
        write(instruction, view, i);
    findPasses(instruction, view, use_.bodies[instruction.body]);
  }

  void findPasses(const plan::WalkedInstruction &instruction, const InstructionView &view, BodyRun &body) {
    bool updates = false;
    for (size_t i = 0; i < view.bufferCount(); ++i) {
      const fb::State *state = view.buffer(i).access() == fb::Access::read ? nullptr : stateAt(kind_, view.buffer(i));
      if (!state)
        continue;
      updates |= state->role() == fb::Role::parameter || state->role() == fb::Role::optimizer;
      if (textOf(state->name()) == rt::kLossSumScalar && newestRead_ != kNever)
        body.lossAt = body.lossAt == kNever ? newestRead_ : std::max(body.lossAt, newestRead_);
    }
    findUpdate(instruction.number, view, updates);
  }

  // Sums over ranks are named after nodes, too, and may end late: they compute nothing.
  void findUpdate(size_t number, const InstructionView &view, bool updates) {
    bool isSent = isCollective(view.opcode()) || isTransfer(view.opcode());
    if (isNodeNote(view.note()) && !isSent)
      use_.updateAt = afterNodes_ = kNever;
    else if (afterNodes_ == kNever && (updates || view.opcode() == Opcode::Launch))
      afterNodes_ = number;
    if (updates)
      use_.updateAt = afterNodes_;
  }

  void read(const plan::WalkedInstruction &instruction, const InstructionView &view,
            const plan::Addresses::Range &range) {
    Pieces &pieces = regions_[range.region];
    bool reduces =
        view.opcode() == Opcode::ReduceScatter || view.opcode() == Opcode::AllReduce || view.opcode() == Opcode::Reduce;
    for (auto piece = firstMet(pieces, range); piece != pieces.end() && piece->first < range.end; ++piece) {
      piece->second.value.last = instruction.number;
      size_t born = piece->second.value.born;
      newestRead_ = newestRead_ == kNever ? born : std::max(newestRead_, born);
      if (reduces && piece->second.value.use == ValueUse::Value)
        piece->second.value.use = ValueUse::Unreduced;
    }
  }

  void write(const plan::WalkedInstruction &instruction, const InstructionView &view, size_t buffer) {
    plan::Addresses::Range range = addresses_.of(view.buffer(buffer), instruction.frames);
    Pieces &pieces = regions_[range.region];
    for (auto piece = firstMet(pieces, range); piece != pieces.end() && piece->first < range.end;) {
      Piece old = piece->second;
      uint64_t begin = piece->first;
      piece = pieces.erase(piece);
      if (begin < range.begin)
        pieces.emplace(begin, Piece{range.begin, old.value});
      if (old.end > range.end)
        piece = pieces.emplace(range.end, old).first;
      if (old.value.born == instruction.number)
        continue; // of the same instruction: the bytes count once
      old.value.last = std::min(old.value.last, instruction.number - 1); // in place: now the new value has the bytes
      end(old, std::min(old.end, range.end) - std::max(begin, range.begin));
    }
    if (range.begin == range.end)
      return;
    LiveValue value;
    value.program = instruction.program;
    value.instruction = instruction.index;
    value.body = static_cast<uint32_t>(instruction.body);
    value.buffer = static_cast<uint32_t>(buffer);
    value.microBatch = instruction.frames.of(fb::Counter::micro_batch);
    value.born = value.last = instruction.number;
    value.region = kind_.regions()->Get(range.region)->kind();
    value.use = useOf(view, value.region);
    pieces.emplace(range.begin, Piece{range.end, value});
  }

  ValueUse useOf(const InstructionView &view, fb::RegionKind region) const {
    if (region == fb::RegionKind::residual)
      return view.opcode() == Opcode::Recv ? ValueUse::Received : ValueUse::Saved;
    if (region == fb::RegionKind::communication || region == fb::RegionKind::workspace)
      return ValueUse::Scratch;
    if (view.opcode() == Opcode::AllGather || view.opcode() == Opcode::Broadcast)
      return ValueUse::Gathered;
    for (size_t i = 0; view.opcode() == Opcode::Copy && i < view.bufferCount(); ++i)
      if (view.buffer(i).access() == fb::Access::read &&
          kind_.regions()->Get(view.buffer(i).region())->space() == fb::Space::host)
        return ValueUse::Fetched;
    return ValueUse::Value;
  }

  static Pieces::iterator firstMet(Pieces &pieces, const plan::Addresses::Range &range) {
    auto piece = pieces.upper_bound(range.begin);
    if (piece != pieces.begin() && std::prev(piece)->second.end > range.begin)
      --piece;
    return piece;
  }

  void end(const Piece &piece, uint64_t bytes) {
    use_.values.push_back(piece.value);
    use_.values.back().bytes = bytes;
  }

  // Marks what the forward pass makes and something after the loss reads. The kernel that makes the
  // loss also makes its gradient, so its results do not count.
  void findSaved() {
    for (LiveValue &value : use_.values) {
      size_t lossAt = use_.bodies[value.body].lossAt;
      if (value.use == ValueUse::Value && lossAt != kNever && value.born < lossAt && value.last > lossAt)
        value.use = ValueUse::Saved;
    }
  }

  void slice(size_t count) {
    std::vector<size_t> ending(use_.values.size());
    std::iota(ending.begin(), ending.end(), size_t{0});
    std::sort(ending.begin(), ending.end(),
              [&](size_t a, size_t b) { return use_.values[a].last < use_.values[b].last; });
    use_.peaks.assign(count, use_.always);
    use_.peakInstructions.assign(count, 0);
    BytesByKind now = use_.always;
    std::vector<uint64_t> most(count);
    uint64_t total = std::accumulate(now.begin(), now.end(), uint64_t{0});
    size_t born = 0, ended = 0;
    for (size_t instruction = 0; instruction < use_.instructions; ++instruction) {
      for (; born < use_.values.size() && use_.values[born].born == instruction; ++born) {
        now[static_cast<size_t>(use_.values[born].region)] += use_.values[born].bytes;
        total += use_.values[born].bytes;
      }
      Pass pass = instruction >= use_.updateAt ? Pass::Update : use_.bodies[bodyOf_[instruction]].passAt(instruction);
      uint64_t &mostInPass = use_.mostInPass[static_cast<size_t>(pass)];
      mostInPass = std::max(mostInPass, total);
      size_t slice = instruction * count / use_.instructions;
      if (total > most[slice]) {
        most[slice] = total;
        use_.peaks[slice] = now;
        use_.peakInstructions[slice] = instruction;
        if (total > most[use_.peakSlice])
          use_.peakSlice = slice;
      }
      for (; ended < ending.size() && use_.values[ending[ended]].last == instruction; ++ended) {
        now[static_cast<size_t>(use_.values[ending[ended]].region)] -= use_.values[ending[ended]].bytes;
        total -= use_.values[ending[ended]].bytes;
      }
    }
  }

  const fb::Plan &kind_;
  plan::Addresses addresses_;
  std::vector<Pieces> regions_;
  std::vector<uint32_t> bodyOf_; // of each instruction
  size_t newestRead_ = kNever;   // when the newest value that the instruction reads was made
  size_t afterNodes_ = kNever;   // the first kernel after the last kernel of a node so far
  MemoryUse use_;
};

} // namespace

std::string nameOf(const fb::Plan &kind, const LiveValue &value) {
  InstructionView view(*kind.programs()->Get(value.program)->instructions()->Get(value.instruction));
  return view.note().empty() ? tensorOf(kind, value.program, value.instruction) : nodeOfNote(view.note());
}

std::string passText(const fb::Plan &kind, const MemoryUse &use, const BodyRun &body, size_t instruction) {
  const fb::Program &program = *kind.programs()->Get(body.program);
  std::string text = shortName(textOf(program.name()), 30), pass = wordsFor(use.passAt(instruction));
  if (!program.entry())
    text += ", micro-batch " + std::to_string(body.microBatch);
  return text + (pass.empty() ? "" : ", " + pass);
}

// Whether the program is the forward or the backward pass of a chunk.
static bool isPass(const fb::Program &program) {
  std::string_view name = textOf(program.name());
  return !program.entry() && (name.find(".fwd") != name.npos || name.find(".bwd") != name.npos);
}

std::string explainBodies(const fb::Plan &plan) {
  for (const fb::Plan *kind : kindsOf(plan))
    for (size_t i = 0; i < lengthOf(kind->programs()); ++i)
      if (isPass(*kind->programs()->Get(i)))
        return "A name such as c0.fwd is a part of a step. c0 is the first chunk of the model: a stage of a pipeline "
               "has one chunk or several.\nfwd is its forward pass, and bwd its backward pass. Some schedules cut that "
               "in two: bwd_x computes the gradients\nof the chunk's inputs, and bwd_w those of its weights.";
  return "";
}

MemoryUse memoryUse(const fb::Plan &kind, uint32_t entry, size_t slices) {
  return UseBuilder(kind, entry).take(slices);
}

} // namespace cleave::view
