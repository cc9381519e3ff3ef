// Mutations of the places that instructions read and write.
#include "test/compiler/Planning/mutation/Mutator.h"

#include <algorithm>

namespace cleave::mutation {

using rt::Opcode;

static std::string textOf(const fb::Buffer &b) {
  return std::to_string(b.region()) + "[" + std::to_string(b.offset()) + ":" + std::to_string(b.bytes()) +
         (b.share_of() ? " share " + std::to_string(b.share_of()) + "*" + std::to_string(b.stride()) : "") + "]";
}

static bool isSamePlace(const fb::Buffer &a, const fb::Buffer &b) {
  return a.region() == b.region() && a.offset() == b.offset() && a.share_of() == b.share_of() &&
         a.stride() == b.stride();
}

// Moves a buffer to another place. It keeps its length and its access.
static fb::Buffer movedTo(const fb::Buffer &buffer, const fb::Buffer &place) {
  return {place.offset(),   buffer.bytes(), place.region(), buffer.access(),
          place.share_of(), place.frame(),  place.stride()};
}

static void replace(Subject &subject, const Site &site, size_t number, const fb::Buffer &by) {
  fb::Buffer before = site->buffers[number];
  subject.tell(site, "buffer " + std::to_string(number) + " " + textOf(before) + " -> " + textOf(by));
  // Buffers that work in place remain in place.
  for (fb::Buffer &buffer : site->buffers)
    if (isSamePlace(buffer, before) && buffer.bytes() == before.bytes())
      buffer =
          fb::Buffer(by.offset(), by.bytes(), by.region(), buffer.access(), by.share_of(), by.frame(), by.stride());
}

static Site pickWithBuffers(Subject &subject, Opcode opcode) {
  return subject.pick(
      [=](const fb::InstructionT &i) { return i.op == static_cast<uint16_t>(opcode) && !i.buffers.empty(); });
}

// Moves a buffer to a place where another instruction of the program has a buffer with as many bytes.
static bool retarget(Subject &subject, Opcode opcode) {
  Site site = pickWithBuffers(subject, opcode);
  if (!site)
    return false;
  size_t number = subject.dice.below(site->buffers.size());
  const fb::Buffer &buffer = site->buffers[number];
  std::vector<fb::Buffer> places;
  for (auto &instruction : site.program->instructions)
    for (const fb::Buffer &other : instruction->buffers)
      if (other.bytes() == buffer.bytes() && !isSamePlace(other, buffer))
        places.push_back(other);
  if (places.empty())
    return false;
  replace(subject, site, number, movedTo(buffer, subject.dice.of(places)));
  return true;
}

static bool toOtherRegion(Subject &subject) {
  Site site = subject.pick([](const fb::InstructionT &i) { return !i.buffers.empty(); });
  if (!site)
    return false;
  size_t number = subject.dice.below(site->buffers.size());
  fb::Buffer buffer = site->buffers[number];
  std::vector<uint16_t> regions;
  for (size_t r = 0; r < subject.plan.regions.size(); ++r)
    if (r != buffer.region() && subject.plan.regions[r]->bytes >= buffer.offset() + buffer.bytes())
      regions.push_back(static_cast<uint16_t>(r));
  if (regions.empty())
    return false;
  replace(subject, site, number,
          {buffer.offset(), buffer.bytes(), subject.dice.of(regions), buffer.access(), buffer.share_of(),
           buffer.frame(), buffer.stride()});
  return true;
}

static bool shift(Subject &subject, Opcode opcode, bool misaligns) {
  Site site = pickWithBuffers(subject, opcode);
  if (!site)
    return false;
  size_t number = subject.dice.below(site->buffers.size());
  fb::Buffer buffer = site->buffers[number];
  uint64_t steps[] = {4, 64, 128, buffer.bytes()};
  uint64_t by = misaligns ? 1 : steps[subject.dice.below(4)];
  if (by == 0)
    return false;
  uint64_t room = subject.plan.regions[buffer.region()]->bytes;
  bool back = buffer.offset() >= by && (subject.dice.coin() || buffer.offset() + buffer.bytes() + by > room);
  uint64_t offset = back ? buffer.offset() - by : buffer.offset() + by;
  replace(
      subject, site, number,
      {offset, buffer.bytes(), buffer.region(), buffer.access(), buffer.share_of(), buffer.frame(), buffer.stride()});
  return true;
}

static void resizeBuffer(fb::Buffer &buffer, uint64_t bytes) {
  buffer = fb::Buffer(buffer.offset(), bytes, buffer.region(), buffer.access(), buffer.share_of(), buffer.frame(),
                      buffer.stride());
}

// Halves a buffer, or removes its last 8 bytes. The count of a collective and the other buffer of a copy change with
// it.
static bool resize(Subject &subject, Opcode opcode) {
  Site site = pickWithBuffers(subject, opcode);
  if (!site)
    return false;
  size_t number = opcode == Opcode::Launch ? subject.dice.below(site->buffers.size()) : 0;
  uint64_t before = site->buffers[number].bytes(), bytes = subject.dice.coin() || before <= 8 ? before / 2 : before - 8;
  if (int64_t *count = fieldOf(*site, "count")) {
    bytes = before / 2;
    *count /= 2;
  }
  subject.tell(site, "buffer " + std::to_string(number) + " of " + std::to_string(before) + " bytes -> " +
                         std::to_string(bytes));
  resizeBuffer(site->buffers[number], bytes);
  if (opcode == Opcode::Copy)
    resizeBuffer(site->buffers[1], bytes);
  return true;
}

// Shrinks the scratch of a library kernel, in the table and in all launches.
static bool shrinkScratch(Subject &subject) {
  std::vector<size_t> found;
  for (size_t i = 0; i < subject.plan.kernels.size(); ++i)
    if (subject.plan.kernels[i]->scratch != 0)
      found.push_back(i);
  if (found.empty())
    return false;
  size_t index = subject.dice.of(found);
  uint64_t &scratch = subject.plan.kernels[index]->scratch;
  uint64_t before = scratch;
  scratch = subject.dice.coin() ? before / 2 : before - std::min<uint64_t>(before, 64);
  for (const Site &site : subject.sites([](const fb::InstructionT &i) { return !i.buffers.empty(); }))
    if (const int64_t *kernel = fieldOf(*site, "kernel"); kernel && *kernel == static_cast<int64_t>(index))
      resizeBuffer(site->buffers.back(), scratch);
  subject.change = "kernel " + std::to_string(index) + " '" + subject.plan.kernels[index]->name + "': scratch of " +
                   std::to_string(before) + " bytes -> " + std::to_string(scratch);
  return true;
}

static bool swapOperands(Subject &subject) {
  std::vector<std::tuple<Site, size_t, size_t>> pairs;
  for (const Site &site : subject.sites([](const fb::InstructionT &i) { return i.buffers.size() > 1; }))
    for (size_t i = 0; i < site->buffers.size(); ++i)
      for (size_t j = i + 1; j < site->buffers.size(); ++j)
        if (site->buffers[i].bytes() == site->buffers[j].bytes() && !isSamePlace(site->buffers[i], site->buffers[j]))
          pairs.emplace_back(site, i, j);
  if (pairs.empty())
    return false;
  auto [site, i, j] = subject.dice.of(pairs);
  subject.tell(site, "buffers " + std::to_string(i) + " and " + std::to_string(j) + " exchanged");
  fb::Buffer a = site->buffers[i], b = site->buffers[j];
  for (fb::Buffer &buffer : site->buffers) // buffers of an in-place pair move together
    if (isSamePlace(buffer, a))
      buffer = movedTo(buffer, b);
    else if (isSamePlace(buffer, b))
      buffer = movedTo(buffer, a);
  return true;
}

// Two instructions of the program exchange buffers of the same size.
static bool swapBetween(Subject &subject) {
  Site site = subject.pick([](const fb::InstructionT &i) { return !i.buffers.empty(); });
  if (!site)
    return false;
  size_t number = subject.dice.below(site->buffers.size());
  const fb::Buffer mine = site->buffers[number];
  std::vector<std::pair<size_t, size_t>> others;
  for (size_t i = 0; i < site.program->instructions.size(); ++i)
    for (size_t b = 0; i != site.index && b < site.program->instructions[i]->buffers.size(); ++b)
      if (const fb::Buffer &other = site.program->instructions[i]->buffers[b];
          other.bytes() == mine.bytes() && other.access() == mine.access() && !isSamePlace(other, mine))
        others.emplace_back(i, b);
  if (others.empty())
    return false;
  auto [index, b] = subject.dice.of(others);
  Site other{site.program, index};
  fb::Buffer theirs = other->buffers[b];
  replace(subject, other, b, movedTo(theirs, mine));
  replace(subject, site, number, movedTo(mine, theirs));
  subject.change += ", exchanged with " + subject.text(other);
  return true;
}

static bool flipAccess(Subject &subject) {
  Site site = subject.pick([](const fb::InstructionT &i) { return !i.buffers.empty(); });
  if (!site)
    return false;
  fb::Buffer &buffer = subject.dice.of(site->buffers);
  auto access = static_cast<fb::Access>(subject.dice.below(3));
  subject.tell(site, std::string("access of ") + textOf(buffer) + " -> " + fb::EnumNameAccess(access));
  buffer = fb::Buffer(buffer.offset(), buffer.bytes(), buffer.region(), access, buffer.share_of(), buffer.frame(),
                      buffer.stride());
  return true;
}

static Site pickShare(Subject &subject, size_t *number) {
  std::vector<std::pair<Site, size_t>> shares;
  for (const Site &site : subject.sites([](const fb::InstructionT &i) { return !i.buffers.empty(); }))
    for (size_t b = 0; b < site->buffers.size(); ++b)
      if (site->buffers[b].share_of() != 0)
        shares.emplace_back(site, b);
  if (shares.empty())
    return {};
  auto [site, b] = subject.dice.of(shares);
  *number = b;
  return site;
}

static bool dropShare(Subject &subject) {
  size_t number = 0;
  Site site = pickShare(subject, &number);
  if (!site)
    return false;
  const fb::Buffer &b = site->buffers[number];
  replace(subject, site, number,
          {b.offset() + (subject.dice.coin() ? b.stride() : 0), b.bytes(), b.region(), b.access(), 0, b.frame(), 0});
  return true;
}

static bool changeShareGroup(Subject &subject) {
  size_t number = 0;
  Site site = pickShare(subject, &number);
  if (!site || subject.plan.groups.size() < 2)
    return false;
  const fb::Buffer &b = site->buffers[number];
  auto group = static_cast<uint16_t>(1 + subject.dice.below(subject.plan.groups.size()));
  replace(subject, site, number, {b.offset(), b.bytes(), b.region(), b.access(), group, b.frame(), b.stride()});
  return true;
}

static bool changeStride(Subject &subject) {
  size_t number = 0;
  Site site = pickShare(subject, &number);
  if (!site)
    return false;
  const fb::Buffer &b = site->buffers[number];
  uint64_t strides[] = {b.stride() + 64, b.stride() * 2, b.stride() - std::min<uint64_t>(b.stride(), 64)};
  replace(subject, site, number,
          {b.offset(), b.bytes(), b.region(), b.access(), b.share_of(), b.frame(), strides[subject.dice.below(3)]});
  return true;
}

static bool makeShare(Subject &subject) {
  Site site = subject.pick([](const fb::InstructionT &i) { return !i.buffers.empty(); });
  if (!site || subject.plan.groups.empty())
    return false;
  size_t number = subject.dice.below(site->buffers.size());
  const fb::Buffer &b = site->buffers[number];
  auto group = static_cast<uint16_t>(1 + subject.dice.below(subject.plan.groups.size()));
  replace(subject, site, number, {b.offset(), b.bytes(), b.region(), b.access(), group, b.frame(), b.bytes()});
  return true;
}

// Uses another frame of a region that has several.
static bool changeFrame(Subject &subject) {
  std::vector<std::pair<Site, size_t>> found;
  for (const Site &site : subject.sites([](const fb::InstructionT &i) { return !i.buffers.empty(); }))
    for (size_t b = 0; b < site->buffers.size(); ++b)
      if (subject.plan.regions[site->buffers[b].region()]->frames > 1)
        found.emplace_back(site, b);
  if (found.empty())
    return false;
  auto [site, number] = subject.dice.of(found);
  const fb::Buffer &b = site->buffers[number];
  auto frame = static_cast<int16_t>(b.frame() + (subject.dice.coin() ? 1 : -1));
  replace(subject, site, number, {b.offset(), b.bytes(), b.region(), b.access(), b.share_of(), frame, b.stride()});
  return true;
}

std::vector<MutationKind> bufferKinds() {
  std::vector<MutationKind> kinds;
  for (const rt::OpcodeInfo &info : rt::opcodes()) {
    Opcode opcode = info.opcode;
    std::string name(info.mnemonic);
    if (info.buffers.empty())
      continue;
    kinds.push_back({"retarget " + name, [=](Subject &s) { return retarget(s, opcode); }});
    kinds.push_back({"shift " + name, [=](Subject &s) { return shift(s, opcode, false); }});
    kinds.push_back({"resize " + name, [=](Subject &s) { return resize(s, opcode); }});
  }
  kinds.push_back({"misalign launch", [](Subject &s) { return shift(s, Opcode::Launch, true); }});
  kinds.push_back({"misalign copy", [](Subject &s) { return shift(s, Opcode::Copy, true); }});
  kinds.push_back({"scratch too small", shrinkScratch});
  kinds.push_back({"other region", toOtherRegion});
  kinds.push_back({"swap operands", swapOperands});
  kinds.push_back({"swap buffers of two instructions", swapBetween});
  kinds.push_back({"buffer access", flipAccess});
  kinds.push_back({"buffer frame", changeFrame});
  kinds.push_back({"share dropped", dropShare});
  kinds.push_back({"share group", changeShareGroup});
  kinds.push_back({"share stride", changeStride});
  kinds.push_back({"share made", makeShare});
  return kinds;
}

} // namespace cleave::mutation
