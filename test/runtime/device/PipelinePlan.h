// A pipeline of two stages, written by hand. Each stage has `dp` ranks, and the schedule is 1F1B. It shows plans with
// frames, sends and calls without barriers, independent of the passes that make such plans.
//
//   stage 0   y0 = x w0 is sent to stage 1. dy0 comes back: dw0 += x dy0.
//             At the end: w0 -= dw0 summed over dp
//   stage 1   y1 = y0 w1; the last y1 is an output. dw1 += y0 y1. dy0 = y1 w1 is sent back.
//             At the end: w1 -= dw1 summed over dp
//
//   stage 0   F0 F1 | B0 F2 | B1 F3 | ... | B B update          a loop calls B in its frame and F two frames later
//   stage 1   R0 | R1 F0 B0 | R2 F1 B1 | ... | F B update        R, which receives, is called one frame later
//
// All operations are element by element, so that each number can be computed by hand. Values that cross bodies have two
// frames, which are enough for any number of micro-batches.
#ifndef CLEAVE_TEST_RUNTIME_DEVICE_PIPELINEPLAN_H
#define CLEAVE_TEST_RUNTIME_DEVICE_PIPELINEPLAN_H

#include "test/runtime/device/PlanBuilder.h"

namespace cleave::rt::test {

class PipelineStage {
public:
  static constexpr int64_t kElements = 16;
  static constexpr uint64_t kBytes = 64;
  enum Streams { kCompute, kReduce, kSend, kRecv };
  static constexpr unsigned kFrames = 2; // in flight between the stages

  PipelineStage(unsigned stage, unsigned dp, unsigned microBatches)
      : builder({{"pp", 2}, {"dp", dp}}), microBatches_(microBatches) {
    fb::PlanT &plan = builder.plan;
    plan.streams = {"compute", "reduce", "send", "recv"};
    plan.micro_batches = microBatches;
    plan.data_axes = {1};
    plan.kind = "stage" + std::to_string(stage);
    plan.where.push_back(std::make_unique<fb::AxisRangeT>());
    plan.where[0]->begin = stage;
    plan.where[0]->end = stage + 1;
    persistent_ = builder.region("persistent", fb::RegionKind::persistent, 256);
    if (stage == 0)
      input_ = builder.region("input", fb::RegionKind::input, kBytes, microBatches);
    else
      output_ = builder.region("output", fb::RegionKind::output, kBytes);
    residual_ = builder.region("residual", fb::RegionKind::residual, 256, kFrames);
    staging_ = builder.region("communication", fb::RegionKind::communication, 64);
    dp_ = builder.group({1});
    addState("w" + std::to_string(stage), fb::Role::parameter, 0);
    addState("dw" + std::to_string(stage), fb::Role::gradient, 128);
    stage == 0 ? makeFirst() : makeLast();
  }

  PlanBuilder builder;

private:
  using Access = fb::Access;
  static constexpr int64_t kF32 = int64_t(fb::DType::f32);
  // Offsets in the residual region.
  enum Values : uint64_t { kY0 = 0, kDy0 = 64, kY1 = 128 };
  // The plan's events.
  enum Events : int64_t { kReady, kSent, kArrived, kUsed, kEvents };

  void addState(const std::string &name, fb::Role role, uint64_t offset) {
    fb::StateT &state = builder.state(name, fb::DType::f32, kElements, persistent_, offset);
    state.role = role;
    if (role == fb::Role::gradient)
      state.partial_axes = {1};
    state.segments.push_back(std::make_unique<fb::SegmentT>());
    state.segments[0]->name = name;
    state.segments[0]->shape = {kElements};
    state.segments[0]->init = role == fb::Role::parameter ? fb::InitKind::weights : fb::InitKind::zeros;
  }

  fb::Buffer at(unsigned region, uint64_t offset, Access access) const {
    return PlanBuilder::buffer(region, offset, kBytes, access);
  }
  fb::Buffer w(Access access) const { return at(persistent_, 0, access); }
  fb::Buffer dw(Access access) const { return at(persistent_, 128, access); }
  fb::Buffer value(Values which, Access access) const { return at(residual_, which, access); }
  fb::Buffer x() const { return at(input_, 0, Access::read); }

  void record(fb::ProgramT &p, unsigned stream, Events which) {
    builder.add(p, Opcode::Record, stream, {}, {which + int64_t{p.events}, 0});
  }
  void wait(fb::ProgramT &p, unsigned stream, Events which, int64_t frame = 0) {
    builder.add(p, Opcode::Wait, stream, {}, {which + int64_t{p.events}, frame});
  }
  void call(fb::ProgramT &p, const std::string &callee, int64_t times, int64_t frame) {
    for (size_t i = 0; i < builder.plan.programs.size(); ++i)
      if (builder.plan.programs[i]->name == callee)
        builder.add(p, Opcode::Call, kCompute, {}, {static_cast<int64_t>(i), times, frame, 0});
  }
  fb::ProgramT &body(const std::string &name) { return builder.program(name, 0, false); }

  void launch(fb::ProgramT &p, const std::string &name, std::vector<fb::Buffer> buffers,
              const std::vector<std::pair<size_t, size_t>> &over = {}) {
    int64_t kernel = builder.generated(name, buffers, kElements, over);
    for (fb::Operand &operand : builder.plan.kernels.back()->operands)
      operand = {operand.bytes(), operand.over(), operand.access(), fb::DType::f32};
    builder.add(p, Opcode::Launch, kCompute, std::move(buffers), {kernel}, name);
  }
  // Along pp. Channel 0 is to stage 1, and channel 1 is to stage 0.
  void send(fb::ProgramT &p, Values which, int64_t offset) {
    builder.add(p, Opcode::Send, kSend, {value(which, Access::read)}, {0, offset, offset < 0, kF32, kElements});
  }
  void receive(fb::ProgramT &p, Values which, int64_t offset) {
    builder.add(p, Opcode::Recv, kRecv, {value(which, Access::write)}, {0, offset, offset > 0, kF32, kElements});
  }

  void addEvents() {
    for (int i = 0; i < kEvents; ++i)
      builder.plan.events.emplace_back(kFrames, fb::Counter::micro_batch);
  }

  // A value with two frames is overwritten two micro-batches later. The waits ensure that it has been used by then.
  void makeFirst() {
    addEvents();
    fb::ProgramT &forward = body("forward");
    wait(forward, kCompute, kSent, -int64_t{kFrames});
    launch(forward, "multiply", {x(), w(Access::read), value(kY0, Access::write)});
    record(forward, kCompute, kReady);
    wait(forward, kSend, kReady);
    send(forward, kY0, 1);
    record(forward, kSend, kSent);
    fb::ProgramT &backward = body("backward");
    wait(backward, kRecv, kUsed, -int64_t{kFrames});
    receive(backward, kDy0, 1);
    record(backward, kRecv, kArrived);
    wait(backward, kCompute, kArrived);
    launch(backward, "multiply_add", {x(), value(kDy0, Access::read), dw(Access::read), dw(Access::write)}, {{3, 2}});
    record(backward, kCompute, kUsed);
    fb::ProgramT &steady = body("steady");
    call(steady, "backward", 1, 0);
    call(steady, "forward", 1, kFrames);
    fb::ProgramT &step = entry();
    call(step, "forward", kFrames, 0);
    call(step, "steady", microBatches_ - kFrames, 0);
    call(step, "backward", kFrames, microBatches_ - kFrames);
    update(step);
  }

  void makeLast() {
    addEvents();
    fb::ProgramT &receiving = body("receive");
    wait(receiving, kRecv, kUsed, -int64_t{kFrames});
    receive(receiving, kY0, -1);
    record(receiving, kRecv, kArrived);
    fb::ProgramT &both = body("forward_backward");
    wait(both, kCompute, kArrived);
    launch(both, "multiply", {value(kY0, Access::read), w(Access::read), value(kY1, Access::write)});
    launch(both, "multiply_add",
           {value(kY0, Access::read), value(kY1, Access::read), dw(Access::read), dw(Access::write)}, {{3, 2}});
    record(both, kCompute, kUsed);
    wait(both, kCompute, kSent, -int64_t{kFrames});
    launch(both, "multiply_back", {value(kY1, Access::read), w(Access::read), value(kDy0, Access::write)});
    record(both, kCompute, kReady);
    wait(both, kSend, kReady);
    send(both, kDy0, -1);
    record(both, kSend, kSent);
    fb::ProgramT &steady = body("steady");
    call(steady, "receive", 1, 1);
    call(steady, "forward_backward", 1, 0);
    fb::ProgramT &step = entry();
    call(step, "receive", 1, 0);
    call(step, "steady", microBatches_ - 1, 0);
    call(step, "forward_backward", 1, microBatches_ - 1);
    // The last micro-batch's result, from its frame.
    fb::Buffer last(kY1, kBytes, static_cast<uint16_t>(residual_), Access::read, 0,
                    static_cast<int16_t>(microBatches_ - 1), 0);
    builder.add(step, Opcode::Copy, kCompute, {at(output_, 0, Access::write), last}, {});
    update(step);
  }

  // A stage has only one input and one output, so the new port is the first.
  template <typename Ports> static void addPort(Ports &ports, const char *name, unsigned region) {
    ports.push_back(std::make_unique<fb::PortT>());
    ports[0]->name = name;
    ports[0]->shape = {kElements};
    ports[0]->region = static_cast<uint16_t>(region);
    ports[0]->absent = region == 0;
    ports[0]->batch_dim = 0;
    ports[0]->split_axes = {1};
  }

  fb::ProgramT &entry() {
    fb::ProgramT &step = builder.program("train_step", 2);
    addPort(step.inputs, "x", input_);
    addPort(step.outputs, "y", output_);
    builder.add(step, Opcode::Fill, kCompute, {dw(Access::write)}, {0, 4});
    return step;
  }

  void update(fb::ProgramT &step) {
    builder.add(step, Opcode::Record, kCompute, {}, {0});
    builder.add(step, Opcode::Wait, kReduce, {}, {0});
    builder.add(step, Opcode::AllReduce, kReduce, {dw(Access::read_write), at(staging_, 0, Access::write)},
                {dp_, kF32, 0, 0, kElements});
    builder.add(step, Opcode::Record, kReduce, {}, {1});
    builder.add(step, Opcode::Wait, kCompute, {}, {1});
    launch(step, "subtract", {dw(Access::read), w(Access::read), w(Access::write)}, {{2, 1}});
  }

  unsigned microBatches_, persistent_ = 0, input_ = 0, output_ = 0, residual_ = 0, staging_ = 0;
  int64_t dp_ = 0;
};

// Both stages. There must be more than two micro-batches.
inline PlanBuilder makePipeline(unsigned dp, unsigned microBatches) {
  PipelineStage first(0, dp, microBatches), last(1, dp, microBatches);
  last.builder.pack(); // fills in the facts of the kernels
  first.builder.plan.kinds.push_back(std::make_unique<fb::PlanT>(last.builder.plan));
  return std::move(first.builder);
}

} // namespace cleave::rt::test

#endif
