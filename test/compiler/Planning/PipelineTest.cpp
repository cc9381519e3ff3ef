// Plans with frames, shared events, calls that are no barriers, sends and receives: the verifier accepts a good plan,
// and finds each mistake in plans with one mistake.
#include "test/compiler/Planning/FindingsOf.h"
#include "test/runtime/device/PipelinePlan.h"

namespace cleave::plan {
namespace {

namespace fb = rt::fb;
using rt::Opcode;
using rt::test::makePipeline;
using rt::test::PipelineStage;
using rt::test::PlanBuilder;

// The plans of both stages, and their programs by name.
struct Pipeline {
  explicit Pipeline(unsigned dp = 2, unsigned microBatches = 6) : builder(makePipeline(dp, microBatches)) {}

  fb::PlanT &stage(unsigned index) { return index == 0 ? builder.plan : *builder.plan.kinds[0]; }
  fb::ProgramT &program(unsigned stageIndex, const std::string &name) {
    for (auto &program : stage(stageIndex).programs)
      if (program->name == name)
        return *program;
    ADD_FAILURE() << "no program " << name;
    return *stage(stageIndex).programs[0];
  }
  // Instruction number `which` (from 0) among those with that opcode.
  fb::InstructionT &at(unsigned stageIndex, const std::string &name, Opcode opcode, int which = 0) {
    for (auto &instruction : program(stageIndex, name).instructions)
      if (instruction->op == static_cast<uint16_t>(opcode) && which-- == 0)
        return *instruction;
    ADD_FAILURE() << "no such instruction in " << name;
    return *program(stageIndex, name).instructions[0];
  }
  void drop(unsigned stageIndex, const std::string &name, Opcode opcode, int which = 0) {
    auto &list = program(stageIndex, name).instructions;
    for (auto i = list.begin(); i != list.end(); ++i)
      if ((*i)->op == static_cast<uint16_t>(opcode) && which-- == 0)
        return (void)list.erase(i);
  }
  std::string findings() { return findingsOf(builder); }

  PlanBuilder builder;
};

::testing::AssertionResult contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos ? ::testing::AssertionSuccess()
                                              : ::testing::AssertionFailure() << "no '" << part << "' in:\n"
                                                                              << text;
}

TEST(Pipelines, AreAcceptedWithAnyNumberOfMicroBatches) {
  for (unsigned dp : {1u, 2u})
    for (unsigned microBatches : {3u, 4u, 7u, 64u})
      EXPECT_EQ(Pipeline(dp, microBatches).findings(), "") << dp << " x " << microBatches;
}

TEST(Pipelines, AreStoredOnce) {
  PlanBuilder few = makePipeline(2, 8), many = makePipeline(2, 512);
  few.pack();
  many.pack();
  EXPECT_EQ(few.packedSize(), many.packedSize());
  EXPECT_EQ(findingsOf(many), "");
}

TEST(Pipelines, NeedTheirEvents) {
  struct Dropped {
    unsigned stage;
    const char *program;
    int which; // number of the wait among the program's waits
  };
  for (Dropped d : std::initializer_list<Dropped>{{0, "forward", 0},
                                                  {0, "forward", 1},
                                                  {0, "backward", 0},
                                                  {0, "backward", 1},
                                                  {1, "receive", 0},
                                                  {1, "forward_backward", 0},
                                                  {1, "forward_backward", 1},
                                                  {1, "forward_backward", 2}}) {
    Pipeline pipeline;
    pipeline.drop(d.stage, d.program, Opcode::Wait, d.which);
    EXPECT_TRUE(contains(pipeline.findings(), "race: kind 'stage" + std::to_string(d.stage) + "': "))
        << d.program << " " << d.which;
  }
}

TEST(Pipelines, WaitForTheRightFrame) {
  Pipeline later; // for a micro-batch that has not been sent yet
  later.at(0, "forward", Opcode::Wait).fields[1] = 1;
  EXPECT_TRUE(contains(later.findings(), "waits for frame 1 of the plan's event 1, which nothing before it records"));
  Pipeline earlier; // for a micro-batch whose place another one has taken
  earlier.at(0, "forward", Opcode::Wait).fields[1] = -3;
  EXPECT_TRUE(contains(earlier.findings(), "waits for frame 0 of the plan's event 1, in whose place"));
  Pipeline own;
  own.at(0, "train_step", Opcode::Wait).fields[1] = -1;
  EXPECT_TRUE(contains(own.findings(), "refused"));
}

TEST(Pipelines, NeedTheirFrames) {
  Pipeline region; // one of two micro-batches in flight overwrites the other
  region.stage(1).regions[2]->frames = 3;
  EXPECT_EQ(region.findings(), "");
  region.stage(1).regions[2]->frames = 1;
  EXPECT_NE(region.findings(), "");
  Pipeline events;
  for (fb::Event &event : events.stage(0).events)
    event = {1, event.counter()};
  EXPECT_TRUE(contains(events.findings(), "which are too few"));
  Pipeline used; // a value is used one micro-batch too early
  fb::Buffer &read = used.at(1, "forward_backward", Opcode::Launch).buffers[0];
  read = fb::Buffer(read.offset(), read.bytes(), read.region(), read.access(), 0, 1, 0);
  EXPECT_TRUE(contains(used.findings(), "frame: kind 'stage1': forward_backward[1] launch on compute"));
  Pipeline input; // the host feeds exactly as many micro-batches as there are
  input.at(0, "train_step", Opcode::Call).fields[2] = -1;
  EXPECT_TRUE(contains(input.findings(), "reads frame -1 of input"));
}

TEST(Pipelines, FollowTheCounterOfTheirCalls) {
  Pipeline pipeline; // stage 1 counts blocks, its regions and events count micro-batches
  pipeline.at(1, "steady", Opcode::Call).fields[3] = int64_t(fb::Counter::block);
  EXPECT_NE(pipeline.findings(), "");
  Pipeline all;
  for (auto &program : all.stage(1).programs)
    for (auto &instruction : program->instructions)
      if (instruction->op == static_cast<uint16_t>(Opcode::Call))
        instruction->fields[3] = int64_t(fb::Counter::block);
  EXPECT_NE(all.findings(), "");
  all.stage(1).regions[2]->counter = fb::Counter::block;
  for (fb::Event &event : all.stage(1).events)
    event = {event.frames(), fb::Counter::block};
  EXPECT_TRUE(all.findings().find("frame:") == std::string::npos) << all.findings();
  fb::Buffer &last = all.at(1, "train_step", Opcode::Copy).buffers[1];
  (void)last;
  EXPECT_EQ(all.findings(), "");
}

// An earlier short form of the step had too many messages, exactly as many as the whole step lacked.
TEST(Pipelines, MessagesOfManySmallLoopsAreCounted) {
  for (int received : {512, 511, 80, 2}) {
    Pipeline pipeline(1, 512);
    auto scratch = static_cast<unsigned>(pipeline.stage(1).regions.size());
    pipeline.stage(1).regions.push_back(std::make_unique<fb::RegionT>());
    pipeline.stage(1).regions.back()->name = "scratch";
    pipeline.stage(1).regions.back()->kind = fb::RegionKind::transient;
    pipeline.stage(1).regions.back()->bytes = 64;
    pipeline.stage(1).regions.back()->frames = 1;
    auto body = [&](unsigned stage, Opcode opcode, unsigned stream, const fb::Buffer &buffer, int64_t offset) {
      fb::ProgramT &program = *pipeline.stage(stage).programs.emplace_back(std::make_unique<fb::ProgramT>());
      program.name = "message";
      PlanBuilder::add(program, opcode, stream, {buffer}, {0, offset, 7, int64_t(fb::DType::f32), 1});
      return static_cast<int64_t>(pipeline.stage(stage).programs.size() - 1);
    };
    auto call = [&](unsigned stage, int64_t program, int64_t times, int64_t counter = 0) {
      fb::ProgramT &step = pipeline.program(stage, "train_step");
      PlanBuilder::add(step, Opcode::Call, 0, {}, {program, times, 0, counter});
      std::rotate(step.instructions.begin(), step.instructions.end() - 1, step.instructions.end()); // before all others
    };
    int64_t send = body(0, Opcode::Send, PipelineStage::kSend, PlanBuilder::buffer(0, 0, 4, fb::Access::read), 1);
    int64_t receive =
        body(1, Opcode::Recv, PipelineStage::kRecv, PlanBuilder::buffer(scratch, 0, 4, fb::Access::write), -1);
    call(0, send, 512);
    for (int left = received; left > 0; left -= 2)
      call(1, receive, std::min(left, 2), left % 4 / 2); // with either counter
    if (received == 512)
      EXPECT_EQ(pipeline.findings(), "");
    else
      EXPECT_TRUE(contains(pipeline.findings(), "is met by nothing"));
  }
}

// A step begins by clearing gradients, to which its bodies add. Otherwise the next step would add to this one's.
TEST(Pipelines, ClearTheirGradients) {
  for (unsigned microBatches : {3u, 64u})
    for (unsigned stage : {0u, 1u}) {
      Pipeline pipeline(1, microBatches);
      pipeline.drop(stage, "train_step", Opcode::Fill);
      std::string number = std::to_string(stage);
      EXPECT_TRUE(contains(pipeline.findings(), "state: kind 'stage" + number + "': train_step reads state 'dw" +
                                                    number + "' as an earlier program has left it"));
    }
}

// In each run, a value moves from each register to the next. So with any number of registers, the last one becomes as
// different between ranks as the first.
TEST(Pipelines, DifferencesTakeAsManyRunsAsThereAreRegisters) {
  for (unsigned registers : {2u, 9u, 40u})
    for (bool isFed : {false, true}) {
      PlanBuilder builder({{"dp", 2}});
      builder.plan.micro_batches = 100;
      unsigned persistent = builder.region("persistent", fb::RegionKind::persistent, 64 * (registers + 1));
      unsigned input = builder.region("input", fb::RegionKind::input, 64, 100);
      for (unsigned i = 0; i <= registers; ++i) {
        fb::StateT &state = builder.state("r" + std::to_string(i), fb::DType::f32, 16, persistent, 64 * i);
        if (i < registers) {
          state.role = fb::Role::gradient;
          state.partial_axes = {0};
        }
        state.segments.push_back(std::make_unique<fb::SegmentT>());
        state.segments[0]->name = state.name;
        state.segments[0]->shape = {16};
      }
      fb::ProgramT &body = builder.program("body", 0, false);
      auto move = [&](unsigned to, unsigned region, uint64_t from) {
        PlanBuilder::add(body, Opcode::Copy, 0,
                         {PlanBuilder::buffer(persistent, 64 * to, 64, fb::Access::write),
                          PlanBuilder::buffer(region, from, 64, fb::Access::read)},
                         {});
      };
      for (unsigned i = registers; i > 0; --i)
        move(i, persistent, 64 * (i - 1));
      if (isFed)
        move(0, input, 0);
      fb::ProgramT &step = builder.program("train_step", 0);
      step.inputs.push_back(std::make_unique<fb::PortT>());
      step.inputs[0]->name = "x";
      step.inputs[0]->shape = {16};
      step.inputs[0]->region = static_cast<uint16_t>(input);
      step.inputs[0]->batch_dim = 0;
      step.inputs[0]->split_axes = builder.plan.data_axes = {0};
      for (unsigned i = 0; i < registers; ++i)
        PlanBuilder::add(step, Opcode::Fill, 0, {PlanBuilder::buffer(persistent, 64 * i, 64, fb::Access::write)},
                         {0, 4});
      PlanBuilder::add(step, Opcode::Call, 0, {}, {0, 100, 0, 0});
      if (isFed)
        EXPECT_TRUE(contains(findingsOf(builder), "replica: state 'r" + std::to_string(registers))) << registers;
      else
        EXPECT_EQ(findingsOf(builder), "") << registers;
    }
}

// Only the last run of a loop reads beyond the inputs that the host has fed.
TEST(Pipelines, InputsEndWithTheMicroBatches) {
  Pipeline pipeline(1, 40);
  for (unsigned stage : {0u, 1u})
    pipeline.stage(stage).micro_batches = 39;
  EXPECT_TRUE(contains(pipeline.findings(), "reads frame 39 of input"));
}

// Two kinds of the first stage, each on one data rank, send to one kind of the second stage. So the received values
// differ along the data ranks.
std::string findingsOfTwoSenders(bool areEqual, bool inBodies) {
  std::vector<PlanBuilder> kinds;
  for (unsigned i = 0; i < 3; ++i) {
    fb::PlanT &plan = kinds.emplace_back(std::vector<std::pair<std::string, unsigned>>{{"dp", 2}, {"pp", 2}}).plan;
    PlanBuilder &builder = kinds.back();
    plan.kind = std::string(1, "ABC"[i]);
    for (unsigned axis = i == 2; axis < 2; ++axis) {
      plan.where.push_back(std::make_unique<fb::AxisRangeT>());
      fb::AxisRangeT &range = *plan.where.back();
      range.axis = axis;
      range.begin = axis == 0 ? i : i / 2;
      range.end = range.begin + 1;
    }
    unsigned region = builder.region("persistent", fb::RegionKind::persistent, 64);
    fb::StateT &state = builder.state(i == 2     ? "seen"
                                      : areEqual ? "w"
                                                 : "w" + plan.kind,
                                      fb::DType::f32, 16, region, 0);
    state.segments.push_back(std::make_unique<fb::SegmentT>());
    state.segments[0]->name = state.name;
    state.segments[0]->shape = {16};
    auto add = [&](fb::ProgramT &program) {
      PlanBuilder::add(program, i == 2 ? Opcode::Recv : Opcode::Send, 0,
                       {PlanBuilder::buffer(region, 0, 64, i == 2 ? fb::Access::write : fb::Access::read)},
                       {1, i == 2 ? -1 : 1, 0, int64_t(fb::DType::f32), 16});
    };
    if (inBodies)
      add(builder.program("message", 0, false));
    fb::ProgramT &step = builder.program("train_step", 0);
    if (inBodies)
      PlanBuilder::add(step, Opcode::Call, 0, {}, {0, 1, 0, 0});
    else
      add(step);
  }
  for (unsigned i : {1u, 2u})
    kinds[0].plan.kinds.push_back(std::make_unique<fb::PlanT>(kinds[i].plan));
  return findingsOf(kinds[0]);
}

TEST(Pipelines, SendersMayDifferAlongAnotherAxisThanTheMessage) {
  for (bool inBodies : {false, true})
    EXPECT_TRUE(
        contains(findingsOfTwoSenders(false, inBodies), "replica: kind 'C': state 'seen' is the same on all ranks of"))
        << inBodies;
  EXPECT_EQ(findingsOfTwoSenders(true, false), "");
}

TEST(Pipelines, MeetInOneOrder) {
  // Stage 1 receives a micro-batch when it needs it. Then the stages wait for each other: stage 0 sends two before it
  // receives, and stage 1 sends the first one back before it receives the second one.
  Pipeline pipeline;
  auto &calls = pipeline.program(1, "steady").instructions;
  std::swap(calls[0], calls[1]);
  pipeline.at(1, "steady", Opcode::Call, 1).fields[2] = 1;
  EXPECT_TRUE(contains(pipeline.findings(), "deadlock: "));
}

TEST(Pipelines, SendWhatIsReceived) {
  Pipeline missing;
  missing.drop(0, "forward", Opcode::Send);
  EXPECT_TRUE(contains(missing.findings(), "transfer: stage1: receive[1] recv on recv over pp by 1 is met by nothing"));
  Pipeline fewer;
  fewer.at(0, "steady", Opcode::Call, 1).fields[1] = 0;
  EXPECT_TRUE(contains(fewer.findings(), "transfer: "));
  Pipeline channel;
  channel.at(0, "forward", Opcode::Send).fields[2] = 3;
  EXPECT_TRUE(contains(channel.findings(), "transfer: "));
  Pipeline type;
  type.at(0, "forward", Opcode::Send).fields[3] = int64_t(fb::DType::i32);
  EXPECT_TRUE(contains(type.findings(), "transfer: stage0: forward[4] send on send over pp by 1 is met by stage1"));
  Pipeline axis; // there is no receive along dp
  axis.at(0, "forward", Opcode::Send).fields[0] = 1;
  EXPECT_TRUE(contains(axis.findings(), "transfer: "));
  Pipeline streams;
  fb::ProgramT &entry = streams.program(0, "train_step");
  entry.instructions.push_back(std::make_unique<fb::InstructionT>(streams.at(0, "forward", Opcode::Send)));
  entry.instructions.back()->stream = PipelineStage::kCompute;
  EXPECT_TRUE(contains(streams.findings(), "are on one channel and on two streams"));
}

TEST(Pipelines, RefuseTransfersThatCannotBe) {
  auto refusal = [](size_t field, int64_t value) {
    Pipeline pipeline;
    pipeline.at(0, "forward", Opcode::Send).fields[field] = value;
    return pipeline.findings();
  };
  EXPECT_TRUE(contains(refusal(0, 2), "names mesh axis 2 of 2"));
  EXPECT_TRUE(contains(refusal(1, 0), "expected another rank"));
  EXPECT_TRUE(contains(refusal(1, 2), "expected another rank"));
  EXPECT_TRUE(contains(refusal(2, 8), "names channel 8 of 8"));
  EXPECT_TRUE(contains(refusal(3, 99), "has no known type"));
  EXPECT_TRUE(contains(refusal(4, 15), "its data must be 60 aligned bytes"));
}

// Received values differ between ranks as the sent values do. Without the reduction over dp the weights drift apart.
TEST(Pipelines, KeepReplicasEqual) {
  for (unsigned stage : {0u, 1u}) {
    Pipeline pipeline;
    pipeline.drop(stage, "train_step", Opcode::AllReduce);
    EXPECT_TRUE(contains(pipeline.findings(), "replica: kind 'stage" + std::to_string(stage) + "': state 'w"));
  }
}

TEST(Pipelines, HavePortsWhereTheyAreUsed) {
  Pipeline unread; // a stage reads it that states no such port
  unread.program(0, "train_step").inputs[0]->absent = true;
  EXPECT_TRUE(contains(unread.findings(), "no kind of ranks has port 'x'"));
  Pipeline unwritten;
  unwritten.stage(0).regions.push_back(std::make_unique<fb::RegionT>(*unwritten.stage(1).regions[1]));
  unwritten.program(0, "train_step").outputs[0]->absent = false;
  unwritten.program(0, "train_step").outputs[0]->region = 4;
  EXPECT_TRUE(contains(unwritten.findings(), "output 'y' of train_step: nothing writes"));
}

// Of three stages, the first and the last share a parameter. They sum their gradients over the two stages.
struct TiedStages {
  explicit TiedStages(bool ofMiddle = false) {
    for (unsigned stage = 0; stage < 3; ++stage) {
      PlanBuilder b({{"pp", 3}});
      unsigned data = b.region("data", fb::RegionKind::persistent, 64);
      unsigned staging = b.region("staging", fb::RegionKind::communication, 64);
      b.plan.kind = "stage" + std::to_string(stage);
      b.plan.where.push_back(std::make_unique<fb::AxisRangeT>());
      b.plan.where[0]->begin = stage;
      b.plan.where[0]->end = stage + 1;
      fb::ProgramT &step = b.program("train_step");
      if (stage != 1 || ofMiddle) {
        b.state("tied", fb::DType::f32, 16, data);
        int64_t group = b.group({0});
        b.plan.groups[0]->only.push_back(std::make_unique<fb::AxisPlacesT>());
        b.plan.groups[0]->only[0]->coordinates = {0, 2};
        b.add(step, Opcode::AllReduce, 1, {b.buffer(data, 0, 64), b.buffer(staging, 0, 32, fb::Access::write)},
              {group, 0, 0, 0, 16});
      }
      b.pack();
      kinds.push_back(std::make_unique<fb::PlanT>(b.plan));
    }
  }
  std::string findings() {
    PlanBuilder builder;
    builder.plan = *kinds[0];
    for (size_t i = 1; i < kinds.size(); ++i)
      builder.plan.kinds.push_back(std::make_unique<fb::PlanT>(*kinds[i]));
    return findingsOf(builder);
  }
  std::vector<std::unique_ptr<fb::PlanT>> kinds;
};

TEST(Pipelines, ReduceOverSomeStages) {
  EXPECT_EQ(TiedStages().findings(), "");
  EXPECT_TRUE(contains(TiedStages(true).findings(), "names group 0, of which not all of its ranks are members"));
  TiedStages one;
  one.kinds[2]->programs[0]->instructions.clear();
  EXPECT_TRUE(contains(one.findings(), "collective-match: stage0: train_step[0] all_reduce on reduce over pp is met by "
                                       "nothing"));
  TiedStages another; // one kind takes all stages for members
  another.kinds[2]->groups[0]->only.clear();
  EXPECT_NE(another.findings(), "");
  auto refusal = [](std::vector<uint32_t> coordinates) {
    TiedStages stages;
    stages.kinds[0]->groups[0]->only[0]->coordinates = coordinates;
    return stages.findings();
  };
  EXPECT_TRUE(contains(refusal({}), "or none of them"));
  EXPECT_TRUE(contains(refusal({2, 0}), "not there or not in order"));
  EXPECT_TRUE(contains(refusal({0, 3}), "not there or not in order"));
}

// A hundred kinds. Each one has a state of its own.
TEST(Pipelines, HaveAsManyStagesAsThereAre) {
  constexpr unsigned kStages = 100;
  std::vector<std::unique_ptr<fb::PlanT>> kinds;
  for (unsigned stage = 0; stage < kStages; ++stage) {
    PlanBuilder b({{"pp", kStages}});
    unsigned data = b.region("data", fb::RegionKind::persistent, 64);
    b.plan.streams = {"compute", "recv", "send"};
    b.plan.kind = "stage" + std::to_string(stage);
    b.plan.where.push_back(std::make_unique<fb::AxisRangeT>());
    b.plan.where[0]->begin = stage;
    b.plan.where[0]->end = stage + 1;
    b.state("w" + std::to_string(stage), fb::DType::f32, 16, data);
    fb::ProgramT &step = b.program("train_step", 1);
    if (stage > 0)
      b.add(step, Opcode::Recv, 1, {b.buffer(data, 0, 64, fb::Access::write)}, {0, -1, 0, 0, 16});
    b.add(step, Opcode::Record, 1, {}, {0});
    b.add(step, Opcode::Wait, 2, {}, {0});
    if (stage + 1 < kStages)
      b.add(step, Opcode::Send, 2, {b.buffer(data, 0, 64, fb::Access::read)}, {0, 1, 0, 0, 16});
    b.pack();
    kinds.push_back(std::make_unique<fb::PlanT>(b.plan));
  }
  PlanBuilder builder;
  builder.plan = *kinds[0];
  for (unsigned stage = 1; stage < kStages; ++stage)
    builder.plan.kinds.push_back(std::move(kinds[stage]));
  EXPECT_EQ(findingsOf(builder), "");
}

// Each rank of one kind sends to the next and receives from the previous rank. On one stream, all ranks wait for each
// other. On two streams the messages pass each other, but a host may run these streams on one thread.
TEST(Pipelines, PassAroundARing) {
  auto ring = [](bool isFirstCompute) {
    PlanBuilder b({{"cp", 3}});
    b.plan.streams = {"compute", "send"};
    unsigned data = b.region("transient", fb::RegionKind::transient, 128);
    auto read = fb::Access::read, write = fb::Access::write;
    fb::ProgramT &p = b.program("infer", 1);
    b.add(p, Opcode::Fill, 0, {b.buffer(data, 0, 64, write)}, {0, 4});
    b.add(p, Opcode::Record, 0, {}, {0});
    b.add(p, Opcode::Wait, 1, {}, {0});
    b.add(p, Opcode::Send, 1, {b.buffer(data, 0, 64, read)}, {0, 1, 0, 0, 16});
    b.add(p, Opcode::Recv, isFirstCompute ? 0 : 1, {b.buffer(data, 64, 64, write)}, {0, -1, 0, 0, 16});
    return findingsOf(b);
  };
  EXPECT_TRUE(contains(ring(false), "deadlock"));
  EXPECT_TRUE(contains(ring(true), "deadlock"));
}

} // namespace
} // namespace cleave::plan
