#include "test/compiler/Planning/mutation/Observations.h"

#include "runtime/plan/FeedMemory.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/SavedState.h"
#include "runtime/plan/Snapshot.h"

#include <algorithm>
#include <cstring>

namespace cleave::mutation {

using rt::isSaved;
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

// The frames of a program's ports that the host feeds and reads.
static unsigned framesOf(const World &world, const fb::Program &program) {
  return rt::inputFrames(*world.kinds().front(), program);
}

static const fb::Program *findEntry(const fb::Plan &kind, const std::string &name) {
  for (const fb::Program *program : *kind.programs())
    if (program->entry() && textOf(program->name()) == name)
      return program;
  return nullptr;
}

// Bytes of one rank that belong to the host between programs.
namespace {
struct HostPlace {
  std::string name;
  unsigned region;
  uint64_t frame, begin, bytes;
  const fb::Port *fed; // the input of the running program that the host feeds; null for others
};
} // namespace

// Those for a run of `entry`, without its outputs. The inputs of `entry` are the last: they are fed for the run.
static std::vector<HostPlace> hostPlaces(const World &world, unsigned rank, const std::string &entry) {
  const fb::Plan &kind = *world.ranks()[rank].kind;
  std::vector<HostPlace> places, fed;
  for (const fb::Program *program : *kind.programs()) {
    if (!program->entry())
      continue;
    std::string name = program->name()->str();
    auto add = [&](const auto *ports, const std::string &what, std::vector<HostPlace> &to) {
      for (uint32_t i = 0; i < lengthOf(ports); ++i)
        if (const fb::Port &port = *ports->Get(i); !port.absent())
          for (unsigned frame = 0; frame < framesOf(world, *program); ++frame)
            to.push_back({what + port.name()->str() + " of " + name + ", frame " + std::to_string(frame), port.region(),
                          frame, port.offset(), bytesOf(port), &to == &fed ? &port : nullptr});
    };
    add(program->inputs(), "input ", name == entry ? fed : places);
    if (name != entry)
      add(program->outputs(), "output ", places);
  }
  for (unsigned region = 0; region < lengthOf(kind.regions()) && entry != "snapshot"; ++region)
    if (const fb::Region &at = *kind.regions()->Get(region); at.kind() == fb::RegionKind::snapshot)
      places.push_back({"the snapshot", region, 0, 0, at.bytes(), nullptr});
  places.insert(places.end(), fed.begin(), fed.end());
  return places;
}

static Id hostValue(const World &world, unsigned rank, const HostPlace &place, bool isRenamed) {
  if (const fb::Port *port = place.fed)
    return Hasher("input")
        .add(portId(*port))
        .add(place.frame)
        .add(port->batch_dim() < 0 ? 0 : world.indexOver(rank, port->split_axes()))
        .id();
  return Hasher("of the host").add(isRenamed).add(place.name).add(rank).id();
}

void initialize(Machine &machine, const World &world, const std::string &entry, const Renamed &renamed) {
  for (unsigned rank = 0; rank < world.ranks().size(); ++rank) {
    const fb::Plan &kind = *world.ranks()[rank].kind;
    for (const HostPlace &place : hostPlaces(world, rank, entry))
      machine.memory(rank, place.region, place.frame)
          .write(place.begin, Bytes(Piece{hostValue(world, rank, place, renamed.ofOthers), 0, 0, place.bytes}));
    for (uint32_t i = 0; i < lengthOf(kind.states()); ++i) {
      const fb::State &state = *kind.states()->Get(i);
      initializeState(machine, world, rank, state, renamed.states.count(state.name()->str()) != 0);
    }
  }
}

static std::string atRank(const std::string &what, unsigned rank) { return what + " of rank " + std::to_string(rank); }

Observed hostBytes(Machine &machine, const World &world, const std::string &entry) {
  Observed observed;
  for (unsigned rank = 0; rank < world.ranks().size(); ++rank)
    for (const HostPlace &place : hostPlaces(world, rank, entry))
      observed[atRank(place.name, rank) + ", which the program must leave as it is,"] =
          machine.memory(rank, place.region, place.frame).read(place.begin, place.bytes).id();
  return observed;
}

namespace {

// Bytes of one rank that are seen after a run.
struct Visible {
  std::string name;
  unsigned rank;
  std::string whole; // what they are a part of; ranks have the same bytes of it
  uint64_t offset;   // in the whole
  Bytes bytes;
};

class Visibles {
public:
  Visibles(Machine &machine, const World &world, const std::string &entry, const std::set<std::string> &unseen)
      : machine_(machine), world_(world), unseen_(unseen) {
    for (unsigned rank = 0; rank < world.ranks().size(); ++rank) {
      const fb::Program *program = findEntry(*world.ranks()[rank].kind, entry);
      addStates(rank, entry == "snapshot" ? program : nullptr);
      if (program)
        addOutputs(rank, *program);
    }
  }
  const std::vector<Visible> &all() const { return all_; }

private:
  void addStates(unsigned rank, const fb::Program *snapshot) {
    const fb::Plan &kind = *world_.ranks()[rank].kind;
    for (uint32_t i = 0; i < lengthOf(kind.states()); ++i) {
      const fb::State &state = *kind.states()->Get(i);
      if (unseen_.count(state.name()->str()))
        continue;
      const fb::Buffer *copy =
          snapshot && isSaved(state) ? rt::snapshotOf(kind, *snapshot, state) : nullptr; // what the host does
      for (const StoredPart &part : storedBy(world_, rank, state).parts) {
        std::string name = "state " + state.name()->str() + "/" + part.segment->name()->str();
        std::string which = ", term " + std::to_string(world_.indexOver(rank, state.partial_axes()));
        if (part.segment->init() == fb::InitKind::coordinate)
          which += ", coordinate " + std::to_string(world_.ranks()[rank].coordinates[part.segment->axis()]);
        auto add = [&](const std::string &what, unsigned region, uint64_t begin) {
          all_.push_back(
              {what, rank, what + which, part.offset, machine_.memory(rank, region, 0).read(begin, part.bytes)});
        };
        add(name, state.region(), part.place);
        if (copy)
          add("snapshot of " + name, copy->region(), copy->offset() + part.place - state.offset());
      }
    }
  }

  void addOutputs(unsigned rank, const fb::Program &program) {
    for (uint32_t i = 0; i < lengthOf(program.outputs()); ++i) {
      const fb::Port &port = *program.outputs()->Get(i);
      for (unsigned frame = 0; !port.absent() && frame < framesOf(world_, program); ++frame) {
        std::string name = "output " + port.name()->str() + ", frame " + std::to_string(frame);
        unsigned part = port.batch_dim() < 0 ? 0 : world_.indexOver(rank, port.split_axes());
        all_.push_back({name, rank, name + ", part " + std::to_string(part), 0,
                        machine_.memory(rank, port.region(), frame).read(port.offset(), bytesOf(port))});
      }
    }
  }

  Machine &machine_;
  const World &world_;
  const std::set<std::string> &unseen_;
  std::vector<Visible> all_;
};

} // namespace

Observed observe(Machine &machine, const World &world, const std::string &entry, const std::set<std::string> &unseen) {
  Observed observed;
  Visibles visibles(machine, world, entry, unseen);
  for (const Visible &visible : visibles.all())
    observed[atRank(visible.name, visible.rank)] = Hasher("seen").add(visible.offset).add(visible.bytes.id()).id();
  for (unsigned rank = 0; rank < world.ranks().size(); ++rank) {
    Hasher checks("checks");
    for (const Id &check : machine.checks(rank))
      checks.add(check);
    observed[atRank("what kernels check", rank)] = checks.id();
  }
  return observed;
}

// True if the two have different bytes of what both have.
static bool differ(const Visible &a, const Visible &b) {
  uint64_t begin = std::max(a.offset, b.offset);
  uint64_t end = std::min(a.offset + a.bytes.size(), b.offset + b.bytes.size());
  return begin < end &&
         a.bytes.slice(begin - a.offset, end - begin).id() != b.bytes.slice(begin - b.offset, end - begin).id();
}

std::string objection(Machine &machine, const World &world, const std::string &entry,
                      const std::set<std::string> &unseen) {
  Visibles visibles(machine, world, entry, unseen);
  std::map<std::string, std::vector<const Visible *>> known;
  for (const Visible &visible : visibles.all()) {
    if (!visible.bytes.isDefined())
      return atRank(visible.name, visible.rank) + " has no value";
    for (const Visible *other : known[visible.whole])
      if (differ(visible, *other))
        return atRank(visible.name, visible.rank) + " is not that of rank " + std::to_string(other->rank);
    known[visible.whole].push_back(&visible);
  }
  return "";
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
