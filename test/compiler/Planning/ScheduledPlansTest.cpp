// Plans of pipelines. The planning pipeline makes them from small chunks for every schedule. They are proved, and with
// unit costs their own instructions, events and transfers are idle as the papers say. So a plan keeps the times that
// its schedule's list promises.
#include "compiler/Planning/Build/PlanWriter.h"
#include "compiler/Planning/Passes.h"
#include "compiler/Planning/Verify/Order/ShortStep.h"
#include "compiler/Planning/Verify/PlanVerifier.h"
#include "compiler/Simulator/StepTimeline.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/RankKinds.h"
#include "test/compiler/Pipeline/Formulas.h"
#include "test/compiler/Planning/LeastDuration.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <random>

namespace cleave {
namespace {

using pipeline::ScheduleRequest;

const std::string kType = "tensor<16xf32>";

std::string kernel(const std::string &result, const std::string &label, const std::string &a, const std::string &b) {
  return "    " + result + " = cleave.kernel ins(" + a + ", " + b + " : " + kType + ", " + kType + ") -> " + kType +
         " attributes {label = \"" + label + "\"} {\n    ^bb0(%p: " + kType + ", %q: " + kType +
         "):\n      %s = cleave." + label + " %p, %q : " + kType + "\n      cleave.yield %s : " + kType + "\n    }\n";
}

std::string state(const std::string &name, const std::string &role) {
  return "  cleave.state @" + name + " : " + kType + " {role = #cleave.role<" + role +
         ">, segments = [#cleave.segment<\"" + name + "\", " + kType +
         ", offset = 0, group = 0, init = #cleave.init<zeros>>]}\n";
}

// A chain of chunks, with `values` values between neighbours: y = x w, dx = dy w, and for the first value dw += x dy.
// The gradient of the last chunk is its value.
class Chunks {
public:
  Chunks(int count, int values, int microBatches, bool isSplit) : count(count), values(values), isSplit(isSplit) {
    for (const char *variant : {"", ".first"})
      if (microBatches > 1 || !*variant)
        for (int chunk = 0; chunk < count; ++chunk)
          addChunk(chunk, variant);
    text += "  func.func @update() {\n";
    for (int chunk = 0; chunk < count; ++chunk) {
      std::string n = std::to_string(chunk);
      text += "    %g" + n + " = cleave.read @g" + n + " : " + kType + "\n    cleave.write %g" + n + ", @w" + n +
              " : " + kType + "\n";
      states += state("w" + n, "parameter") + state("g" + n, "gradient");
    }
    text += "    return\n  }\n";
  }
  std::string states, text;

private:
  // "a0, a1" for each value.
  std::string each(const std::function<std::string(const std::string &)> &text) const {
    std::string all;
    for (int value = 0; value < values; ++value)
      all += (value == 0 ? "" : ", ") + text(std::to_string(value));
    return all;
  }
  static std::string edge(const std::string &name) { return "{cleave.edge = \"" + name + "\"}"; }

  void addChunk(int chunk, const std::string &variant) {
    std::string n = std::to_string(chunk), last = std::to_string(chunk - 1), next = std::to_string(chunk + 1);
    bool isFirst = chunk == 0, isLast = chunk + 1 == count;
    std::string inputs = each([&](const std::string &v) {
      return "%x" + v + ": " + kType + " " + (isFirst ? "{cleave.name = \"x" + v + "\"}" : edge("c" + last + ":" + v));
    });
    std::string gradients = each([&](const std::string &v) {
      std::string made = edge("c" + n + ":" + v + ".grad.c" + next), kept = "{cleave.residual = " + v + " : i64}";
      return "%dy" + v + ": " + kType + " " + (isLast ? kept : made);
    });
    std::string forward = "@c" + n + ".fwd" + variant, weight = "    %w = cleave.read @w" + n + " : " + kType + "\n";
    std::string passes = weight, dx = weight;
    for (int value = 0; value < values; ++value) {
      std::string v = std::to_string(value);
      passes += kernel("%y" + v, "mul", "%x" + v, "%w");
      dx += kernel("%dx" + v, "mul", "%dy" + v, "%w");
    }
    auto types = each([&](const std::string &) { return kType; });
    // The last chunk keeps its values; others send them.
    text += "  func.func " + forward + "(" + inputs + ") -> (" +
            each([&](const std::string &v) { return kType + (isLast ? "" : " " + edge("c" + n + ":" + v)); }) +
            ") {\n" + passes + "    return " + each([](const std::string &v) { return "%y" + v; }) + " : " + types +
            "\n  }\n";
    std::string of = " attributes {cleave.backward_of = " + forward + "}";
    std::string sum = kernel("%t", "mul", "%x0", "%dy0");
    std::string added = "%t";
    if (variant.empty()) {
      sum += "    %old = cleave.read @g" + n + " : " + kType + "\n" + kernel("%new", "add", "%old", "%t");
      added = "%new";
    }
    sum += "    cleave.write " + added + ", @g" + n + " : " + kType + "\n";
    std::string results =
        " -> (" + each([&](const std::string &v) { return kType + " " + edge("c" + last + ":" + v + ".grad.c" + n); }) +
        ")";
    std::string returned = "    return " + each([](const std::string &v) { return "%dx" + v; }) + " : " + types + "\n";
    if (isFirst)
      results.clear(), returned = "    return\n";
    if (!isSplit) {
      text += "  func.func @c" + n + ".bwd" + variant + "(" + inputs + ", " + gradients + ")" + results + of + " {\n" +
              dx + sum + returned + "  }\n";
      return;
    }
    text += "  func.func @c" + n + ".bwd_x" + variant + "(" + gradients + ")" + results + of + " {\n" + dx + returned +
            "  }\n";
    text += "  func.func @c" + n + ".bwd_w" + variant + "(" + inputs + ", " + gradients + ")" + of + " {\n" + sum +
            "    return\n  }\n";
  }

  int count, values;
  bool isSplit;
};

bool isSplit(const std::string &schedule) { return schedule.rfind("zb", 0) == 0 || schedule == "dualpipe-v"; }

// The bytes of a plan. Empty if planning fails.
std::string planOf(const std::string &schedule, const ScheduleRequest &request, int chunks, int values = 1) {
  mlir::MLIRContext context;
  context.loadDialect<CleaveDialect, plan::PlanDialect, mlir::func::FuncDialect, mlir::shard::ShardDialect,
                      mlir::ub::UBDialect>();
  Chunks model(chunks, values, request.microBatches, isSplit(schedule));
  std::string ranks = std::to_string(request.ranks);
  std::string text = "module attributes {cleave.level = \"sharded\", cleave.mesh = #cleave.mesh<[\"pp\"], [" + ranks +
                     "]>, cleave.micro_batches = " + std::to_string(request.microBatches) +
                     " : i64, cleave.pipeline = {axis = \"pp\", schedule = \"" + schedule +
                     "\"}} {\n  shard.grid @mesh(shape = " + ranks + ")\n" + model.states + model.text + "}\n";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  mlir::PassManager manager(&context);
  plan::buildPlanningPipeline(manager, {}); // proves it
  if (!module || mlir::failed(manager.run(*module)))
    return "";
  llvm::Expected<std::string> bytes = plan::writePlan(*module);
  return bytes ? *bytes : "";
}

// The cost of an instruction: one for each part of a pass, at the body's first launch.
double unitCost(const rt::fb::Plan &kind, uint32_t program, const rt::InstructionView &instruction) {
  const rt::fb::Program &body = *kind.programs()->Get(program);
  std::string name = body.name()->str();
  if (instruction.opcode() != rt::Opcode::Launch || name[0] != 'c')
    return 0;
  for (const rt::fb::Instruction *other : *body.instructions())
    if (rt::InstructionView view(*other); view.opcode() == rt::Opcode::Launch) {
      bool isWhole = name.find(".bwd") != std::string::npos && name.find(".bwd_") == std::string::npos;
      return &view.buffer(0) == &instruction.buffer(0) ? (isWhole ? 2 : 1) : 0;
    }
  return 0;
}

const rt::fb::Plan *open(const std::string &bytes) {
  const rt::fb::Plan *plan = nullptr;
  rt::Status status = rt::openPlan(bytes.data(), bytes.size(), &plan);
  EXPECT_TRUE(status.isOk()) << status.message();
  return plan;
}

// The timeline of the plan's own step on unit costs.
std::optional<plan::StepTimeline> timelineOf(const std::string &schedule, const ScheduleRequest &request,
                                             int chunksPerRank) {
  std::string bytes = planOf(schedule, request, request.ranks * chunksPerRank);
  EXPECT_FALSE(bytes.empty()) << schedule;
  return bytes.empty() ? std::nullopt : plan::timelineOf(*open(bytes), "train_step", unitCost);
}

void expectIdle(const std::string &schedule, ScheduleRequest request, int chunksPerRank) {
  std::string what = schedule + " on " + std::to_string(request.ranks) + " ranks, " +
                     std::to_string(request.microBatches) + " micro-batches, " + std::to_string(chunksPerRank) +
                     " chunks a rank";
  auto timeline = timelineOf(schedule, request, chunksPerRank);
  ASSERT_TRUE(timeline) << what;
  request.chunksPerRank = chunksPerRank;
  std::optional<double> expected = pipeline::expectedIdleShare(schedule, request);
  ASSERT_TRUE(expected) << what;
  // A plan does not show steps in a row, because each step ends on all ranks. A single step is idle as the list is.
  if (pipeline::isExpectedInARow(schedule)) {
    auto list = pipeline::makeSchedule(schedule, request);
    expected =
        pipeline::idleShare(pipeline::simulate(*list, pipeline::ChunkGraph::chain(request.ranks), request.costs));
  }
  EXPECT_NEAR(timeline->idleShare(), *expected, 1e-9) << what;
}

TEST(ScheduledPlans, IdleAsTheFormulasSay) {
  for (const pipeline::ScheduleKind &kind : pipeline::scheduleKinds())
    for (int ranks : {2, 4}) {
      ScheduleRequest request;
      request.ranks = ranks;
      request.microBatches = 4 * ranks;
      expectIdle(kind.name, request, kind.leastChunks);
      request.microBatches = 5 * ranks + 1; // no multiple of the ranks
      if (pipeline::makeSchedule(kind.name, request))
        expectIdle(kind.name, request, kind.leastChunks);
    }
}

TEST(ScheduledPlans, ThreeChunksOfARankIdleAThirdAsLong) {
  for (int ranks : {2, 4}) {
    ScheduleRequest request;
    request.ranks = ranks, request.microBatches = 2 * ranks;
    expectIdle("interleaved-1f1b", request, 3);
  }
}

// For steps in a row, each rank begins the next step when it has ended its own. So the period is the longest time that
// a rank spends in one step.
TEST(ScheduledPlans, ZeroBubbleIdlesAtMostOnePercentInARow) {
  ScheduleRequest request;
  request.ranks = 8, request.microBatches = 32;
  auto timeline = timelineOf("zb-h2", request, 1);
  ASSERT_TRUE(timeline);
  double period = 0, busy = 0;
  for (const plan::KindTimeline &rank : timeline->kinds) {
    period = std::max(period, rank.bodies.back().end - rank.bodies.front().start);
    busy += rank.busy;
  }
  EXPECT_LE(1 - busy / (period * 8), 0.01);
  expectIdle("zb-h1", request, 1);
}

struct Durations {
  double plan = 0, bound = 0;
};

Durations durationsOf(const pipeline::ScheduleKind &kind, const ScheduleRequest &request,
                      const std::vector<double> &costs, int values, double delay) {
  std::string bytes = planOf(kind.name, request, static_cast<int>(costs.size()), values);
  auto cost = [&](const rt::fb::Plan &plan, uint32_t program, const rt::InstructionView &instruction) {
    if (rt::isTransfer(instruction.opcode()))
      return delay;
    double units = unitCost(plan, program, instruction);
    return units == 0 ? 0 : units * costs[std::atoi(plan.programs()->Get(program)->name()->c_str() + 1)];
  };
  auto timeline = bytes.empty() ? std::nullopt : plan::timelineOf(*open(bytes), "train_step", cost);
  auto list = pipeline::makeSchedule(kind.name, request);
  EXPECT_TRUE(timeline && list) << kind.name;
  if (!timeline || !list)
    return {};
  return {timeline->duration, LeastDuration(*list, isSplit(kind.name), costs, values * delay).run()};
}

// Costs of each chunk's forward pass: all equal, every second one slower, or the first one slower.
std::vector<std::vector<double>> chunkCosts(size_t chunks) {
  std::vector<std::vector<double>> costs(3, std::vector<double>(chunks, 1));
  for (size_t chunk = 1; chunk < chunks; chunk += 2)
    costs[1][chunk] = 1.25;
  costs[2][0] = 1.5;
  return costs;
}

// Streams, frames and the order of transfers lose no time that the schedule's own order allows: none for each further
// micro-batch when the pipeline is full, and at most 1% of a step.
TEST(ScheduledPlans, HideMessagesAsFarAsTheScheduleCan) {
  for (const pipeline::ScheduleKind &kind : pipeline::scheduleKinds())
    for (int ranks : {2, 4})
      for (const std::vector<double> &costs : chunkCosts(ranks * kind.leastChunks))
        for (auto [values, delay] : {std::pair(1, 0.0), {1, 0.5}, {1, 1.0}, {1, 1.5}, {2, 0.25}, {2, 0.75}}) {
          ScheduleRequest request;
          request.ranks = ranks, request.microBatches = 6 * ranks;
          Durations few = durationsOf(kind, request, costs, values, delay);
          request.microBatches = 12 * ranks;
          Durations many = durationsOf(kind, request, costs, values, delay);
          std::string what = std::string(kind.name) + " on " + std::to_string(ranks) + " ranks, " +
                             std::to_string(values) + " messages of " + std::to_string(delay) + ", forward passes of " +
                             std::to_string(costs[0]) + " and " + std::to_string(costs[1]);
          EXPECT_NEAR(many.plan - few.plan, many.bound - few.bound, 1e-9) << what;
          for (const Durations &step : {few, many}) {
            EXPECT_GE(step.plan, step.bound - 1e-9) << what; // otherwise the bound would be wrong
            EXPECT_LE(step.plan, 1.01 * step.bound) << what;
          }
        }
}

// Compares with the formulas in OneForwardOneBackward.cpp for its two schedules, with F = 1 and B = 2.
TEST(ScheduledPlans, TheBoundIsThatOfTheFormulas) {
  for (int ranks : {2, 4, 8})
    for (double delay : {0.5, 1.0, 1.5}) {
      auto periodOf = [&](const char *name) {
        double durations[2];
        for (int many : {0, 1}) {
          ScheduleRequest request;
          request.ranks = ranks, request.microBatches = (many ? 12 : 6) * ranks;
          std::vector<double> costs(ranks, 1);
          durations[many] = LeastDuration(*pipeline::makeSchedule(name, request), false, costs, delay).run();
        }
        return (durations[1] - durations[0]) / (6 * ranks);
      };
      EXPECT_NEAR(periodOf("1f1b"), 3 + 2 * delay * (ranks - 1) / ranks, 1e-9) << ranks << " " << delay;
      EXPECT_NEAR(periodOf("eager-1f1b"), 3, 1e-9) << ranks << " " << delay;
    }
}

TEST(ScheduledPlans, ResidualsHaveTheFramesOfTheSchedule) {
  for (const char *name : {"naive", "gpipe", "1f1b", "eager-1f1b"}) {
    ScheduleRequest request;
    request.ranks = 4, request.microBatches = 12;
    std::string bytes = planOf(name, request, 4);
    ASSERT_FALSE(bytes.empty());
    std::vector<const rt::fb::Plan *> kinds = rt::kindsOf(*open(bytes));
    for (int rank = 1; rank < 4; ++rank) { // the first rank keeps its inputs, which the host has written
      // Values that are sent or received have one frame more, and two if the sender is further ahead.
      uint32_t frames = 0;
      for (const rt::fb::Region *region : *kinds[rank]->regions())
        if (region->kind() == rt::fb::RegionKind::residual)
          frames = std::max(frames, region->frames());
      auto expected = static_cast<uint32_t>(*pipeline::expectedFrames(name, request, rank));
      EXPECT_GE(frames, expected) << name << " " << rank;
      EXPECT_LE(frames, expected + (name == std::string("eager-1f1b") ? 2 : 1)) << name << " " << rank;
    }
  }
}

// The number of micro-batches changes only the frames of GPipe.
TEST(ScheduledPlans, DoNotGrowWithMicroBatches) {
  for (const pipeline::ScheduleKind &kind : pipeline::scheduleKinds()) {
    ScheduleRequest few, many;
    few.ranks = many.ranks = 2, few.microBatches = 16, many.microBatches = 512;
    few.chunksPerRank = many.chunksPerRank = kind.leastChunks;
    size_t less = planOf(kind.name, few, 2 * kind.leastChunks).size();
    size_t more = planOf(kind.name, many, 2 * kind.leastChunks).size();
    ASSERT_GT(less, 0u) << kind.name; // planOf returns no bytes if the plan cannot be made
    ASSERT_GT(more, 0u) << kind.name;
    EXPECT_LE(static_cast<double>(more), 1.05 * static_cast<double>(less)) << kind.name;
  }
}

// Makes one change of a plan's order, frames or calls. The property tested here does not depend on other fields. Or
// adds bodies and calls that the compiler does not make: chains of calls, each a few frames later, which meet in one
// frame or in neighbouring frames, or begin in the middle of the step.
class Mutator {
public:
  explicit Mutator(unsigned seed) : random(seed) {}

  void change(rt::fb::PlanT &first) {
    rt::fb::PlanT &plan = pick(2) == 0 || first.kinds.empty() ? first : *first.kinds[pick(first.kinds.size())];
    switch (pick(10)) {
    case 8:
    case 9:
      return addWriters(plan);
    case 0:
      return changeFrames(plan.regions[pick(plan.regions.size())]->frames);
    case 1: {
      rt::fb::Event &event = plan.events[pick(plan.events.size())];
      uint32_t frames = event.frames();
      changeFrames(frames);
      event = rt::fb::Event(frames, event.counter());
      return;
    }
    default:
      return change(*plan.programs[pick(plan.programs.size())]);
    }
  }

private:
  size_t pick(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); }
  int64_t smallStep() { return std::array<int64_t, 6>{-3, -2, -1, 1, 2, 3}[pick(6)]; }
  void changeFrames(uint32_t &frames) {
    frames = static_cast<uint32_t>(std::max<int64_t>(1, int64_t{frames} + smallStep()));
  }
  static size_t addProgram(rt::fb::PlanT &plan, rt::Opcode opcode, unsigned stream, std::vector<rt::fb::Buffer> buffers,
                           std::vector<int64_t> fields) {
    auto instruction = std::make_unique<rt::fb::InstructionT>();
    instruction->op = static_cast<uint16_t>(opcode);
    instruction->stream = static_cast<uint8_t>(stream);
    instruction->buffers = std::move(buffers);
    instruction->fields = std::move(fields);
    plan.programs.push_back(std::make_unique<rt::fb::ProgramT>());
    plan.programs.back()->name = "added." + std::to_string(plan.programs.size());
    plan.programs.back()->instructions.push_back(std::move(instruction));
    return plan.programs.size() - 1;
  }

  // A body that writes. A chain of calls, of a few frames each, calls it `frames` frames later.
  size_t addChain(rt::fb::PlanT &plan, unsigned stream, const rt::fb::Buffer &buffer, int64_t frames) {
    size_t program = addProgram(plan, rt::Opcode::Fill, stream, {buffer}, {0, 1});
    int64_t most = std::array<int64_t, 3>{3, 20, 1000}[pick(3)];
    while (frames != 0) {
      int64_t step = std::clamp(frames, -most, most);
      program = addProgram(plan, rt::Opcode::Call, 0, {}, {static_cast<int64_t>(program), 1, step, 0, 0});
      frames -= step;
    }
    return program;
  }

  // Two streams write to the memory of one value without an order: a race if they do so in one frame.
  void addWriters(rt::fb::PlanT &plan) {
    size_t region = plan.regions.size();
    plan.regions.push_back(std::make_unique<rt::fb::RegionT>());
    rt::fb::RegionT &room = *plan.regions.back();
    room.name = "residual.added";
    room.kind = rt::fb::RegionKind::residual;
    room.bytes = 64;
    auto microBatches = static_cast<int64_t>(plan.micro_batches);
    room.frames = static_cast<uint32_t>(pick(2) == 0 ? 1 + pick(4) : microBatches - static_cast<int64_t>(pick(3)));
    rt::fb::Buffer buffer(0, 4, static_cast<uint16_t>(region), rt::fb::Access::write, 0, 0, 0);
    auto frame = static_cast<int64_t>(pick(plan.micro_batches));
    size_t early = addChain(plan, 0, buffer, frame);
    size_t late = addChain(plan, 1, buffer, frame + std::array<int64_t, 4>{0, 0, 1, -2}[pick(4)] - microBatches + 1);
    for (auto &program : plan.programs)
      if (program->entry && program->name == "train_step")
        for (auto [callee, first] : {std::pair(early, int64_t{0}), std::pair(late, microBatches - 1)}) {
          auto call = std::make_unique<rt::fb::InstructionT>();
          call->op = static_cast<uint16_t>(rt::Opcode::Call);
          call->fields = {static_cast<int64_t>(callee), 1, first, 0, 0};
          program->instructions.push_back(std::move(call));
        }
  }

  void change(rt::fb::ProgramT &program) {
    if (program.instructions.empty())
      return;
    size_t at = pick(program.instructions.size());
    auto &instruction = *program.instructions[at];
    switch (pick(4)) {
    case 0:
      program.instructions.erase(program.instructions.begin() + static_cast<ptrdiff_t>(at));
      return;
    case 1:
      std::swap(program.instructions[at], program.instructions[pick(program.instructions.size())]);
      return;
    case 2: // of a call, a wait or a record: the number of times, or the frame
      for (const char *name : {"times", "first_frame", "frame"})
        if (int field = rt::fieldIndex(static_cast<rt::Opcode>(instruction.op), name); field >= 0 && pick(2) == 0)
          instruction.fields[field] = std::max<int64_t>(instruction.fields[field] + smallStep(), -4);
      return;
    default:
      if (!instruction.buffers.empty()) {
        rt::fb::Buffer &of = instruction.buffers[pick(instruction.buffers.size())];
        of = rt::fb::Buffer(of.offset(), of.bytes(), of.region(), of.access(), of.share_of(),
                            static_cast<int16_t>(of.frame() + smallStep()), of.stride());
      }
    }
  }
  std::mt19937 random;
};

// A step without most of its micro-batches is refused exactly if the whole step is.
TEST(ScheduledPlans, ShortStepsShowWhatWholeStepsShow) {
  const char *more = std::getenv("CLEAVE_TEST_MUTANTS");
  int count = more ? std::atoi(more) : 150, refused = 0, passed = 0;
  for (const pipeline::ScheduleKind &kind : pipeline::scheduleKinds())
    for (int ranks : {2, 3}) {
      const std::string name = kind.name;
      ScheduleRequest request;
      request.ranks = ranks, request.microBatches = 240;
      std::string bytes = planOf(name, request, ranks * kind.leastChunks);
      ASSERT_FALSE(bytes.empty()) << name;
      bool isShort = false;
      for (const rt::fb::Plan *kind : rt::kindsOf(*open(bytes)))
        isShort |= bool(plan::ShortStep::of(*kind, "train_step", plan::Steps::Short));
      EXPECT_EQ(isShort, name == "gpipe")
          << name << " on " << ranks; // the frames of the others are reused within the step
      if (!isShort)
        continue;
      for (int i = 0; i < count; ++i) {
        std::unique_ptr<rt::fb::PlanT> changed(open(bytes)->UnPack());
        Mutator(static_cast<unsigned>(i)).change(*changed);
        flatbuffers::FlatBufferBuilder builder;
        builder.Finish(rt::fb::Plan::Pack(builder, changed.get()), rt::fb::PlanIdentifier());
        const rt::fb::Plan *plan = nullptr;
        if (!rt::openPlan(builder.GetBufferPointer(), builder.GetSize(), &plan).isOk())
          continue;
        bool isRefused = !plan::verifyPlan(*plan, plan::Check::ButStated, plan::Steps::Whole).empty();
        ASSERT_EQ(!plan::verifyPlan(*plan, plan::Check::ButStated).empty(), isRefused)
            << name << " on " << ranks << ", mutant " << i;
        ++(isRefused ? refused : passed);
      }
    }
  EXPECT_GT(4 * refused, passed); // otherwise the mutants would test nothing
  EXPECT_GT(4 * passed, refused);
}

} // namespace
} // namespace cleave
