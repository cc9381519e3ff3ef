#include "runtime/device/Rank.h"

#include "runtime/base/Counted.h"
#include "runtime/comm/Communicator.h"
#include "runtime/device/BoundPlan.h"
#include "runtime/device/Executor.h"
#include "runtime/device/RankImages.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/Opcode.h"
#include "runtime/plan/RankKinds.h"

#include <set>
#include <unordered_map>

namespace cleave::rt {

struct Rank::Impl {
  Impl(const fb::Plan &all, const fb::Plan &plan, Communicator &comm) : all(all), plan(plan), comm(comm) {
    for (const fb::Plan *kind : kindsOf(all))
      if (kind != &plan)
        translate(*kind);
  }

  // The device is destroyed before the actions in `bound`: its watchdog uses their texts.
  ~Impl() {
    executor.reset();
    device.reset();
  }

  // Returns this kind's table for one that may be another kind's. Null if this kind has none.
  template <typename Table> const Table *own(const Table &table) const {
    auto found = others.find(&table);
    return found == others.end() ? &table : static_cast<const Table *>(found->second);
  }
  void translate(const fb::Plan &kind);

  const fb::Plan &all, &plan;
  std::unordered_map<const void *, const void *> others; // programs, ports, states of other kinds -> those of this kind
  Communicator &comm;
  std::vector<unsigned> coordinates;
  std::atomic<bool> failed{false};
  std::unique_ptr<Device> device;
  BoundPlan bound;
  RankImages images;
  size_t feedBytes = 0;
  std::unique_ptr<Executor> executor; // last, because its threads use all of the above
};

Rank::Rank() = default;
Rank::~Rank() = default;
Rank::Rank(Rank &&) noexcept = default;
Rank &Rank::operator=(Rank &&) noexcept = default;

// checkKinds() has proved that programs of one name have the same ports.
void Rank::Impl::translate(const fb::Plan &kind) {
  for (size_t i = 0; i < lengthOf(kind.states()); ++i) {
    const fb::State *state = kind.states()->Get(i), *same = nullptr;
    for (size_t s = 0; s < lengthOf(plan.states()); ++s)
      if (textOf(plan.states()->Get(s)->name()) == textOf(state->name()))
        same = plan.states()->Get(s);
    others[state] = same;
  }
  for (size_t i = 0; i < lengthOf(kind.programs()); ++i) {
    const fb::Program *program = kind.programs()->Get(i);
    if (!program->entry()) // the host asks only for entry programs
      continue;
    const fb::Program *same = findProgram(plan, textOf(program->name()));
    others[program] = same;
    for (size_t p = 0; same && p < lengthOf(program->inputs()); ++p)
      others[program->inputs()->Get(p)] = same->inputs()->Get(p);
    for (size_t p = 0; same && p < lengthOf(program->outputs()); ++p)
      others[program->outputs()->Get(p)] = same->outputs()->Get(p);
  }
}

// openPlan() has checked the plan. Here are mistakes of a program that embeds the runtime.
static Status checkRequest(const fb::Plan &plan, const RankOptions &options, const Communicator &comm) {
  if (plan.instruction_set() != instructionSetHash() || plan.kernel_set() != kernelSetHash())
    return invalidArgument("the plan was made for another runtime; compile the model again");
  if (static_cast<uint64_t>(comm.size()) != meshSize(plan))
    return invalidArgument("the plan is for " + counted(meshSize(plan), "rank") + "; there " +
                           (comm.size() == 1 ? "is " : "are ") + std::to_string(comm.size()) +
                           "; start as many as the mesh has");
  if (options.rank != comm.rank())
    return invalidArgument("rank " + std::to_string(options.rank) + " was given the communicator of rank " +
                           std::to_string(comm.rank()));
  if (options.threads < 1 || options.threads > 4096)
    return invalidArgument("expected 1 to 4096 threads per rank; got: " +
                           std::to_string(static_cast<unsigned>(options.threads)));
  return Status::ok();
}

// The groups have one order on all ranks, whatever their kind.
static ConnectRequest connectRequest(const fb::Plan &all, Communicator &comm) {
  std::set<GroupShape> groups;
  for (const fb::Plan *kind : kindsOf(all))
    for (size_t i = 0; i < lengthOf(kind->groups()); ++i)
      groups.insert(shapeOf(*kind->groups()->Get(i)));
  return {comm, meshOf(all), {groups.begin(), groups.end()}};
}

Status Rank::create(const fb::Plan &all, const cleave_kernel_fn *kernels, const RankOptions &options,
                    Communicator &comm, Rank *result) {
  CLEAVE_TRY(checkRequest(all, options, comm));
  std::vector<unsigned> coordinates = meshCoordinates(meshOf(all), static_cast<unsigned>(options.rank));
  const fb::Plan &plan = kindAt(all, coordinates);
  auto impl = std::make_unique<Impl>(all, plan, comm);
  impl->coordinates = std::move(coordinates);

  DeviceOptions deviceOptions;
  deviceOptions.threads = options.threads;
  deviceOptions.plannedThreads = plan.threads() ? static_cast<int>(plan.threads()) : 1;
  deviceOptions.failed = &impl->failed;
  deviceOptions.rank = options.rank;
  deviceOptions.image = options.deviceImage;
  deviceOptions.isTraced = options.trace != nullptr;
  for (size_t i = 0; i < lengthOf(plan.regions()); ++i)
    if (const fb::Region &region = *plan.regions()->Get(i); region.space() == fb::Space::device)
      deviceOptions.deviceBytes += region.bytes() * region.frames();
  CLEAVE_TRY(createDevice(std::string(textOf(plan.target())), deviceOptions, &impl->device));
  OnDevice thread(*impl->device); // it ends before the device is destroyed
  CLEAVE_TRY(Status(thread.status()));
  CLEAVE_TRY(impl->device->connect(connectRequest(all, comm)));
  size_t first = firstKernel(all, plan);
  BindRequest request{plan,
                      kernels ? kernels + first : nullptr,
                      comm,
                      *impl->device,
                      options.trace,
                      options.rank,
                      options.deviceKernels ? options.deviceKernels + first : nullptr};
  CLEAVE_TRY(bindPlan(request, &impl->bound));
  CLEAVE_TRY(impl->images.make(plan, impl->bound, *impl->device));
  impl->executor = std::make_unique<Executor>(plan, impl->bound, *impl->device, comm, options.trace, impl->failed);
  result->impl_ = std::move(impl);
  return Status::ok();
}

Status Rank::run(const fb::Program &any, Inputs inputs) {
  const fb::Program *own = impl_->own(any);
  if (!own)
    return internal("no rank of this kind has a program '" + any.name()->str() + "'");
  const fb::Program &program = *own;
  for (size_t i = 0; i < lengthOf(impl_->plan.programs()); ++i)
    if (impl_->plan.programs()->Get(i) == &program) {
      CLEAVE_TRY(impl_->images.beforeRun(program, inputs));
      CLEAVE_TRY(impl_->executor->run(static_cast<unsigned>(i)));
      return impl_->images.afterRun(program);
    }
  return internal("the program '" + program.name()->str() + "' is not of this rank's plan");
}

Status Rank::push(Bytes image) { return impl_->images.push(image); }
Status Rank::pull(Bytes image) { return impl_->images.pull(image); }

Status Rank::feed(const fb::Port &port, unsigned frame, const std::byte *source) {
  return impl_->images.feed(portBytes(port, frame), source);
}

Status Rank::allocateFeed(size_t bytes, std::byte **data) {
  *data = nullptr;
  if (impl_->device->sharesMemory() || bytes == 0)
    return Status::ok();
  OnDevice thread(*impl_->device);
  CLEAVE_TRY(Status(thread.status()));
  CLEAVE_TRY(impl_->device->allocate(fb::Space::host, bytes, data));
  impl_->feedBytes += bytes;
  return Status::ok();
}

Status Rank::pushStates() {
  for (size_t i = 0; i < lengthOf(impl_->plan.states()); ++i)
    CLEAVE_TRY(push(stateBytes(*impl_->plan.states()->Get(i))));
  return Status::ok();
}

Status Rank::pullStates() {
  for (size_t i = 0; i < lengthOf(impl_->plan.states()); ++i)
    CLEAVE_TRY(pull(stateBytes(*impl_->plan.states()->Get(i))));
  return Status::ok();
}

Bytes Rank::portBytes(const fb::Port &any, unsigned frame) const {
  const fb::Port &port = *impl_->own(any);
  if (port.absent())
    return {};
  return {impl_->images.region(port.region()).at(Frames::ofMicroBatch(frame)) + port.offset(), rt::portBytes(port)};
}

Bytes Rank::regionBytes(unsigned region) const {
  const Address &address = impl_->images.region(region);
  return {address.base, address.bytes};
}

Bytes Rank::stateBytes(const fb::State &any) const {
  const fb::State *own = impl_->own(any);
  if (!own)
    return {};
  const fb::State &state = *own;
  return {impl_->images.region(state.region()).base + state.offset(), stateShardBytes(impl_->plan, state)};
}

Rank::Range Rank::stateRange(const fb::State &state) const {
  return storedRange(impl_->plan, state, impl_->coordinates);
}

unsigned Rank::coordinate(unsigned axis) const { return impl_->coordinates[axis]; }

const fb::Plan &Rank::plan() const { return impl_->plan; }
const fb::Plan &Rank::allKinds() const { return impl_->all; }

RankCounters Rank::counters() const {
  RankCounters counters;
  for (size_t i = 0; i < impl_->bound.regions.size(); ++i) {
    const Address &region = impl_->bound.regions[i];
    bool isHost = impl_->plan.regions()->Get(static_cast<unsigned>(i))->space() == fb::Space::host;
    (isHost ? counters.hostBytes : counters.plannedBytes) += region.bytes * region.frames;
  }
  counters.hostBytes += impl_->feedBytes;
  counters.bytesSent = impl_->comm.bytesSent();
  return counters;
}

const fb::Program *findProgram(const fb::Plan &plan, std::string_view name) {
  for (size_t i = 0; i < lengthOf(plan.programs()); ++i)
    if (const fb::Program *program = plan.programs()->Get(i); program->entry() && textOf(program->name()) == name)
      return program;
  return nullptr;
}

const fb::State *findState(const fb::Plan &plan, std::string_view name) {
  for (const KindState &each : statesOf(plan))
    if (textOf(each.state->name()) == name)
      return each.state;
  return nullptr;
}

} // namespace cleave::rt
