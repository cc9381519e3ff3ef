#include "runtime/device/BoundPlan.h"

#include "runtime/base/Printable.h"
#include "runtime/plan/InstructionView.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/Mesh.h"

namespace cleave::rt {

namespace {

class Binder {
public:
  Binder(const BindRequest &request, BoundPlan &bound) : request_(request), plan_(request.plan), bound_(bound) {}

  Status bind() {
    CLEAVE_TRY(allocate());
    makeGroups();
    makeTracks();
    makeEvents();
    bound_.programs.resize(lengthOf(plan_.programs()));
    done_.resize(bound_.programs.size());
    for (unsigned i = 0; i < bound_.programs.size(); ++i)
      CLEAVE_TRY(bindProgram(i));
    return Status::ok();
  }

private:
  Status allocate() {
    for (size_t i = 0; i < lengthOf(plan_.regions()); ++i) {
      const fb::Region &region = *plan_.regions()->Get(i);
      Address address;
      address.bytes = address.stride = region.bytes();
      address.frames = region.frames();
      address.counter = region.counter();
      CLEAVE_TRY(request_.device.allocate(region.space(), region.bytes() * region.frames(), &address.base)
                     .in("region '" + region.name()->str() + "'"));
      bound_.regions.push_back(address);
    }
    return Status::ok();
  }

  void makeGroups() {
    std::vector<uint32_t> mesh = meshOf(plan_);
    for (size_t i = 0; i < lengthOf(plan_.groups()); ++i) {
      GroupShape shape = shapeOf(*plan_.groups()->Get(i));
      bound_.groups.push_back(meshGroup(mesh, shape.axes, request_.rank, shape.only));
    }
  }

  void makeTracks() {
    for (size_t i = 0; i < lengthOf(plan_.streams()); ++i)
      tracks_.push_back(request_.trace ? request_.trace->addTrack(request_.rank, std::string(textOf(plan_.kind())),
                                                                  plan_.streams()->Get(i)->str())
                                       : 0);
  }

  void makeEvents() {
    for (uint32_t i = 0; i < lengthOf(plan_.events()); ++i) {
      const fb::Event &event = *plan_.events()->Get(i);
      bound_.events.push_back({event.counter(), event.frames(), places_.size()});
      for (uint32_t frame = 0; frame < event.frames(); ++frame)
        places_.push_back(request_.device.makeEvent());
    }
    bound_.eventPlaces = places_.size();
    for (unsigned stream = 0; stream < lengthOf(plan_.streams()); ++stream)
      isThread_[request_.device.threadOf(stream)] = true;
  }

  // Binds callees first: a thread walks a call only if it has actions in the callee. openPlan() has excluded recursion.
  // For example, if `step` launches a kernel on compute and calls `sync`, which all-reduces on reduce:
  //
  //   thread of compute   step: [launch]        sync: []
  //   thread of reduce    step: [call sync]     sync: [all_reduce]
  //
  // The lists of a thread keep the order of the program, so a stream's instructions run in that order.
  Status bindProgram(unsigned index) {
    if (done_[index])
      return Status::ok();
    done_[index] = true;
    const fb::Program &program = *plan_.programs()->Get(index);
    if (!program.entry())
      bound_.programs[index].body = program.name()->c_str();
    std::vector<unsigned> events(program.events());
    for (unsigned &event : events)
      event = request_.device.makeEvent();
    for (unsigned i = 0; i < lengthOf(program.instructions()); ++i) {
      InstructionView view(*program.instructions()->Get(i));
      Status status = view.opcode() == Opcode::Call ? bindCall(index, i, view) : bindAction(index, i, view, events);
      if (!status.isOk())
        return std::move(status).in(describe(plan_, index, i));
    }
    return Status::ok();
  }

  Status bindCall(unsigned index, unsigned position, const InstructionView &view) {
    BoundCall call;
    call.callee = static_cast<unsigned>(view["program"]);
    CLEAVE_TRY(bindProgram(call.callee));
    call.times = view["times"];
    call.firstFrame = view["first_frame"];
    call.stride = view["skip"] + 1;
    call.counter = static_cast<fb::Counter>(view["counter"]);
    BoundProgram &program = bound_.programs[index];
    for (unsigned thread = 0; thread < kThreads; ++thread) {
      if (!bound_.programs[call.callee].uses[thread])
        continue;
      BoundInstruction bound;
      bound.call = static_cast<int>(program.calls.size());
      bound.index = position;
      add(index, thread, std::move(bound));
    }
    program.calls.push_back(call);
    return Status::ok();
  }

  void add(unsigned program, unsigned thread, BoundInstruction bound) {
    bound_.programs[program].instructions[thread].push_back(std::move(bound));
    bound_.programs[program].uses[thread] = true;
  }

  Status bindAction(unsigned index, unsigned position, const InstructionView &view,
                    const std::vector<unsigned> &events) {
    BoundInstruction bound;
    bound.index = position;
    bound.track = tracks_[view.stream()];
    bound.name = view.info().mnemonic.data(); // ends in a zero byte, because it is a literal
    bool isEvent = view.opcode() == Opcode::Record || view.opcode() == Opcode::Wait;
    if (isEvent && view["event"] >= static_cast<int64_t>(events.size()))
      return bindShared(index, view, static_cast<size_t>(view["event"]) - events.size(), std::move(bound));
    CLEAVE_TRY(makeAction(index, view, events, &bound));
    add(index, request_.device.threadOf(view.stream()), std::move(bound));
    return Status::ok();
  }

  Status bindShared(unsigned index, const InstructionView &view, size_t number, BoundInstruction bound) {
    const BoundEvent &event = bound_.events[number];
    unsigned thread = request_.device.threadOf(view.stream());
    bound.event = static_cast<int>(number);
    bound.isRecord = view.opcode() == Opcode::Record;
    bound.frame = view["frame"];
    for (unsigned other = 0; bound.isRecord && other < kThreads; ++other)
      if (other != thread && isThread_[other]) {
        BoundInstruction counted;
        counted.event = bound.event;
        counted.isRecord = true;
        counted.frame = bound.frame;
        counted.index = bound.index;
        add(index, other, std::move(counted));
      }
    for (size_t place = 0; place < event.frames; ++place) {
      unsigned made = places_[event.firstPlace + place];
      ActionPtr action;
      CLEAVE_TRY(bound.isRecord ? request_.device.record(view.stream(), made, &action)
                                : request_.device.wait(view.stream(), made, &action));
      bound.ofPlace.push_back(std::move(action));
    }
    add(index, thread, std::move(bound));
    return Status::ok();
  }

  Status makeAction(unsigned index, const InstructionView &view, const std::vector<unsigned> &events,
                    BoundInstruction *bound) {
    Device &device = request_.device;
    unsigned stream = view.stream();
    switch (view.opcode()) {
    case Opcode::Launch:
      return launch(view, bound);
    case Opcode::Copy:
      return device.copy(stream, address(view.buffer(0)), address(view.buffer(1)), &bound->action);
    case Opcode::Fill:
      return device.fill(stream, address(view.buffer(0)), static_cast<uint64_t>(view["pattern"]),
                         static_cast<unsigned>(view["width"]), &bound->action);
    case Opcode::Record:
      return device.record(stream, events[static_cast<size_t>(view["event"])], &bound->action);
    case Opcode::Wait:
      return device.wait(stream, events[static_cast<size_t>(view["event"])], &bound->action);
    case Opcode::AllReduce:
    case Opcode::ReduceScatter:
    case Opcode::AllGather:
    case Opcode::Reduce:
    case Opcode::Broadcast:
      return collective(view, describe(plan_, index, bound->index), bound);
    case Opcode::Send:
    case Opcode::Recv:
      return transfer(view, describe(plan_, index, bound->index), bound);
    case Opcode::Call:
      break; // bindCall() binds it
    }
    return internal("this instruction is not implemented");
  }

  Status launch(const InstructionView &view, BoundInstruction *bound) {
    auto index = static_cast<unsigned>(view["kernel"]);
    const fb::Kernel &kernel = *plan_.kernels()->Get(index);
    bound->name = view.note().empty() ? kernel.name()->c_str() : view.note().data();
    bool generated = kernel.kind() == fb::KernelKind::generated;
    LaunchRequest request{kernel,
                          generated && request_.kernels ? request_.kernels[index] : nullptr,
                          {},
                          view.stream(),
                          generated && request_.deviceKernels ? request_.deviceKernels + index : nullptr,
                          std::string(view.note())};
    for (size_t i = 0; i < view.bufferCount(); ++i)
      request.operands.push_back(address(view.buffer(i)));
    return request_.device.launch(request, &bound->action);
  }

  Status collective(const InstructionView &view, std::string place, BoundInstruction *bound) {
    CollectiveRequest request{view.opcode(),
                              bound_.groups[static_cast<size_t>(view["group"])],
                              request_.comm,
                              address(view.buffer(0)),
                              view.bufferCount() > 1 ? address(view.buffer(1)) : Address(),
                              view.buffer(0).access(),
                              static_cast<size_t>(view["count"]),
                              static_cast<fb::DType>(view["dtype"]),
                              static_cast<Reduction>(view["reduction"]),
                              static_cast<int>(view["root"]),
                              view.stream(),
                              std::move(place)};
    if (!view.note().empty())
      bound->name = view.note().data();
    bound->bytes = request.count * dtypeSize(request.dtype);
    return request_.device.collective(request, &bound->action);
  }

  Status transfer(const InstructionView &view, std::string place, BoundInstruction *bound) {
    TransferRequest request{view.opcode(),
                            request_.comm,
                            peerOf(plan_, static_cast<unsigned>(request_.rank), view["axis"], view["offset"]),
                            address(view.buffer(0)),
                            static_cast<unsigned>(view["channel"]),
                            view.stream(),
                            std::move(place)};
    if (!view.note().empty())
      bound->name = view.note().data();
    bound->bytes = request.data.bytes;
    return request_.device.transfer(request, &bound->action);
  }

  Address address(const fb::Buffer &buffer) const {
    Address address = bound_.regions[buffer.region()];
    address.base += buffer.offset();
    if (buffer.share_of() != 0)
      address.base += static_cast<size_t>(bound_.groups[buffer.share_of() - 1u].index) * buffer.stride();
    address.bytes = buffer.bytes();
    address.frame = buffer.frame();
    return address;
  }

  const BindRequest &request_;
  const fb::Plan &plan_;
  BoundPlan &bound_;
  std::vector<unsigned> tracks_;
  std::vector<unsigned> places_; // the device's events: one for each place of each shared event
  bool isThread_[kThreads] = {};
  std::vector<bool> done_;
};

} // namespace

GroupShape shapeOf(const fb::Group &group) {
  GroupShape shape;
  for (size_t a = 0; a < lengthOf(group.axes()); ++a) {
    shape.axes.push_back(group.axes()->Get(a));
    const fb::AxisPlaces *places = placesOn(group, shape.axes.back());
    shape.only.emplace_back();
    if (places)
      shape.only.back().assign(places->coordinates()->begin(), places->coordinates()->end());
  }
  return shape;
}

Status bindPlan(const BindRequest &request, BoundPlan *result) { return Binder(request, *result).bind(); }

std::string describe(const fb::Plan &plan, unsigned program, unsigned instruction) {
  const fb::Program &owner = *plan.programs()->Get(program);
  InstructionView view(*owner.instructions()->Get(instruction));
  std::string what(view.info().mnemonic);
  if (view.opcode() == Opcode::Launch)
    what += " @" + plan.kernels()->Get(static_cast<uint32_t>(view["kernel"]))->name()->str();
  std::string_view of = view.reason() ? textOf(view.reason()->tensor()) : view.note();
  if (!of.empty())
    what += " of " + printable(std::string(of.substr(of[0] == '@'))); // '@' marks a state in the plan's text
  return "program '" + owner.name()->str() + "', instruction " + std::to_string(instruction) + " (" + what + ")";
}

} // namespace cleave::rt
