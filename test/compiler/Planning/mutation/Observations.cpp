#include "test/compiler/Planning/mutation/Observations.h"

#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/SavedState.h"
#include "runtime/plan/Snapshot.h"

#include <algorithm>
#include <cstring>

namespace cleave::mutation {

using rt::lengthOf;
using rt::textOf;

static uint64_t bitsOf(double value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

template <typename Vector> static void addAll(Hasher &hasher, const Vector *values) {
  hasher.add(lengthOf(values));
  for (uint32_t i = 0; i < lengthOf(values); ++i)
    hasher.add(static_cast<uint64_t>(values->Get(i)));
}

// The meaning of a segment, without its position.
static Id segmentId(const fb::State &state, const fb::Segment &segment) {
  Hasher hasher("segment");
  hasher.add(textOf(state.name())).add(static_cast<uint64_t>(state.role())).add(textOf(state.slot()));
  hasher.add(static_cast<uint64_t>(state.dtype())).add(textOf(segment.name())).add(segment.group());
  hasher.add(static_cast<uint64_t>(segment.init()));
  addAll(hasher, segment.shape());
  if (segment.init() == fb::InitKind::constant)
    hasher.add(bitsOf(segment.value()));
  if (segment.init() == fb::InitKind::weights)
    hasher.add(textOf(lengthOf(segment.source()) ? segment.source() : segment.name()));
  if (segment.init() == fb::InitKind::coordinate)
    hasher.add(segment.axis());
  return hasher.id();
}

// The part of a segment that one rank stores.
namespace {
struct StoredPart {
  const fb::Segment *segment;
  uint64_t place;  // first byte in the region
  uint64_t offset; // first byte in the segment
  uint64_t bytes;
};
struct StoredState {
  uint64_t first, count, width; // elements of the whole state; bytes of one
  std::vector<StoredPart> parts;
};
} // namespace

static uint64_t productOf(const flatbuffers::Vector<int64_t> *shape) {
  uint64_t product = 1;
  for (uint32_t i = 0; i < lengthOf(shape); ++i)
    product *= static_cast<uint64_t>(shape->Get(i));
  return product;
}

static StoredState storedBy(const World &world, unsigned rank, const fb::State &state) {
  Members owners = world.membersOver(rank, state.split_axes());
  StoredState stored;
  stored.count = state.elements() / owners.ranks.size();
  stored.first = owners.index * stored.count;
  stored.width = rt::dtypeSize(state.dtype());
  for (uint32_t i = 0; i < lengthOf(state.segments()); ++i) {
    const fb::Segment &segment = *state.segments()->Get(i);
    uint64_t begin = std::max(segment.offset(), stored.first);
    uint64_t end = std::min(segment.offset() + productOf(segment.shape()), stored.first + stored.count);
    if (begin < end)
      stored.parts.push_back({&segment, state.offset() + (begin - stored.first) * stored.width,
                              (begin - segment.offset()) * stored.width, (end - begin) * stored.width});
  }
  return stored;
}

static void initializeState(Machine &machine, const World &world, unsigned rank, const fb::State &state,
                            bool isRenamed) {
  StoredState stored = storedBy(world, rank, state);
  Hasher rest("padding");
  rest.add(textOf(state.name())).add(isRenamed);
  Memory &memory = machine.memory(rank, state.region(), 0);
  memory.write(state.offset(), Bytes(Piece{rest.id(), stored.first * stored.width, 0, stored.count * stored.width}));
  for (const StoredPart &part : stored.parts) {
    Hasher value("initial");
    value.add(segmentId(state, *part.segment)).add(isRenamed);
    value.add(world.indexOver(rank, state.partial_axes())); // an unreduced sum: each rank has its own term
    if (part.segment->init() == fb::InitKind::coordinate)
      value.add(world.ranks()[rank].coordinates[part.segment->axis()]);
    memory.write(part.place, Bytes(Piece{value.id(), part.offset, 0, part.bytes}));
  }
}

static Id portId(const fb::Port &port) {
  Hasher hasher("port");
  hasher.add(textOf(port.name())).add(static_cast<uint64_t>(port.dtype()));
  hasher.add(static_cast<uint64_t>(port.batch_dim()));
  addAll(hasher, port.shape());
  return hasher.id();
}

static uint64_t bytesOf(const fb::Port &port) { return productOf(port.shape()) * rt::dtypeSize(port.dtype()); }

static const fb::Program *findEntry(const fb::Plan &kind, const std::string &name) {
  for (const fb::Program *program : *kind.programs())
    if (program->entry() && textOf(program->name()) == name)
      return program;
  return nullptr;
}

void initialize(Machine &machine, const World &world, const std::string &entry, const std::set<std::string> &renamed) {
  for (unsigned rank = 0; rank < world.ranks().size(); ++rank) {
    const fb::Plan &kind = *world.ranks()[rank].kind;
    for (uint32_t i = 0; i < lengthOf(kind.states()); ++i) {
      const fb::State &state = *kind.states()->Get(i);
      initializeState(machine, world, rank, state, renamed.count(state.name()->str()) != 0);
    }
    const fb::Program *program = findEntry(kind, entry);
    for (uint32_t i = 0; program && i < lengthOf(program->inputs()); ++i) {
      const fb::Port &port = *program->inputs()->Get(i);
      for (uint64_t frame = 0; !port.absent() && frame < kind.micro_batches(); ++frame) {
        Hasher value("input");
        value.add(portId(port)).add(frame).add(port.batch_dim() < 0 ? 0 : world.indexOver(rank, port.split_axes()));
        machine.memory(rank, port.region(), frame).write(port.offset(), Bytes(Piece{value.id(), 0, 0, bytesOf(port)}));
      }
    }
  }
}

static std::string atRank(const std::string &what, unsigned rank) { return what + " of rank " + std::to_string(rank); }

static bool isSaved(const fb::State &state) {
  return rt::isSaved(state.role(), lengthOf(state.partial_axes()) != 0, lengthOf(state.slot()) != 0);
}

static void observeStates(Machine &machine, const World &world, unsigned rank, const fb::Program *snapshot,
                          const std::set<std::string> &unseen, Observed &observed) {
  const fb::Plan &kind = *world.ranks()[rank].kind;
  for (uint32_t i = 0; i < lengthOf(kind.states()); ++i) {
    const fb::State &state = *kind.states()->Get(i);
    if (unseen.count(state.name()->str()))
      continue;
    StoredState stored = storedBy(world, rank, state);
    const fb::Buffer *copy =
        snapshot && isSaved(state) ? rt::snapshotOf(kind, *snapshot, state) : nullptr; // what the host does
    for (const StoredPart &part : stored.parts) {
      std::string name = state.name()->str() + "/" + part.segment->name()->str();
      auto see = [&](const char *what, unsigned region, uint64_t begin) {
        Id bytes = machine.memory(rank, region, 0).read(begin, part.bytes).id();
        observed[atRank(what + name, rank)] = Hasher("seen").add(part.offset).add(bytes).id();
      };
      see("state ", state.region(), part.place);
      if (copy)
        see("snapshot of state ", copy->region(), copy->offset() + part.place - state.offset());
    }
  }
}

// Observes the bytes of the host: those that it has fed, those that it reads, and those from which it writes a
// checkpoint, while programs come and go. These are inputs, the outputs of other programs, and the snapshot.
static void observeHostBytes(Machine &machine, const World &world, unsigned rank, const std::string &entry, Observed &observed) {
  const fb::Plan &kind = *world.ranks()[rank].kind;
  auto see = [&](const std::string &what, unsigned region, uint64_t frame, uint64_t begin, uint64_t bytes) {
    observed[atRank(what + " afterwards", rank)] = machine.memory(rank, region, frame).read(begin, bytes).id();
  };
  for (const fb::Program *program : *kind.programs()) {
    if (!program->entry())
      continue;
    std::string name = program->name()->str();
    for (uint32_t i = 0; i < lengthOf(program->inputs()); ++i)
      if (const fb::Port &port = *program->inputs()->Get(i); !port.absent())
        for (uint64_t frame = 0; frame < kind.micro_batches(); ++frame)
          see("input " + port.name()->str() + " of " + name + ", frame " + std::to_string(frame), port.region(), frame, port.offset(),
              bytesOf(port));
    for (uint32_t i = 0; i < lengthOf(program->outputs()) && name != entry; ++i)
      if (const fb::Port &port = *program->outputs()->Get(i); !port.absent())
        see("output " + port.name()->str() + " of " + name, port.region(), 0, port.offset(), bytesOf(port));
  }
  for (unsigned region = 0; region < lengthOf(kind.regions()) && entry != "snapshot"; ++region)
    if (const fb::Region &at = *kind.regions()->Get(region); at.kind() == fb::RegionKind::snapshot)
      see("the snapshot", region, 0, 0, at.bytes());
}

Observed observe(Machine &machine, const World &world, const std::string &entry, const std::set<std::string> &unseen) {
  Observed observed;
  for (unsigned rank = 0; rank < world.ranks().size(); ++rank) {
    const fb::Plan &kind = *world.ranks()[rank].kind;
    const fb::Program *program = findEntry(kind, entry);
    observeStates(machine, world, rank, entry == "snapshot" ? program : nullptr, unseen, observed);
    observeHostBytes(machine, world, rank, entry, observed);
    for (uint32_t i = 0; program && i < lengthOf(program->outputs()); ++i) {
      const fb::Port &port = *program->outputs()->Get(i);
      if (port.absent())
        continue;
      observed[atRank("output " + port.name()->str(), rank)] =
          machine.memory(rank, port.region(), 0).read(port.offset(), bytesOf(port)).id();
    }
  }
  return observed;
}

static void declarePorts(const fb::Plan &kind, Observed &observed) {
  for (const fb::Program *program : *kind.programs()) {
    if (!program->entry())
      continue;
    observed["program " + program->name()->str()] = Id();
    auto declare = [&](const auto *ports, const char *what) {
      for (uint32_t i = 0; i < lengthOf(ports); ++i) {
        const fb::Port &port = *ports->Get(i);
        Hasher hasher("declared");
        hasher.add(portId(port));
        if (port.batch_dim() >= 0)
          addAll(hasher, port.split_axes());
        observed[what + program->name()->str() + "/" + port.name()->str()] = hasher.id();
      }
    };
    declare(program->inputs(), "input of ");
    declare(program->outputs(), "output of ");
  }
}

Observed declared(const World &world) {
  Observed observed;
  for (const fb::Plan *kind : world.kinds()) {
    Hasher header("plan");
    header.add(kind->micro_batches()).add(kind->batch());
    addAll(header, kind->data_axes());
    for (uint32_t i = 0; i < lengthOf(kind->param_groups()); ++i) {
      const fb::ParamGroup &group = *kind->param_groups()->Get(i);
      header.add(textOf(group.name())).add(bitsOf(group.lr_scale())).add(bitsOf(group.weight_decay()));
    }
    observed["the header of kind '" + std::string(textOf(kind->kind())) + "'"] = header.id();
    for (uint32_t i = 0; i < lengthOf(kind->states()); ++i) {
      const fb::State &state = *kind->states()->Get(i);
      for (uint32_t s = 0; s < lengthOf(state.segments()); ++s)
        observed["declaration of " + state.name()->str() + "/" + state.segments()->Get(s)->name()->str()] =
            segmentId(state, *state.segments()->Get(s));
    }
    declarePorts(*kind, observed);
  }
  return observed;
}

std::set<std::string> scratchStates(const World &world) {
  std::set<std::string> names;
  for (const fb::Plan *kind : world.kinds())
    for (uint32_t i = 0; i < lengthOf(kind->states()); ++i)
      if (const fb::State &state = *kind->states()->Get(i);
          state.role() == fb::Role::gradient ||
          ((state.role() == fb::Role::scalar || state.role() == fb::Role::buffer) && !isSaved(state)))
        names.insert(state.name()->str());
  return names;
}

} // namespace cleave::mutation
