#include "compiler/Inspect/TracedInstructions.h"
#include "runtime/base/Trace.h"
#include "runtime/comm/LocalWorld.h"
#include "runtime/device/Rank.h"
#include "test/runtime/device/PlanBuilder.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

using namespace cleave;
using namespace cleave::rt;
using rt::test::PlanBuilder;

namespace {

void nothing(void *const *, int64_t, int64_t) {}

// An instruction of each opcode that a trace has spans of, on one stream; sends on another, so that they meet.
void addAll(PlanBuilder &builder, fb::ProgramT &step, unsigned region, const std::string &note) {
  auto buffer = [&](size_t number) { return builder.buffer(region, 64 * number, 64); };
  for (const OpcodeInfo &info : opcodes()) {
    if (info.opcode == Opcode::Record || info.opcode == Opcode::Wait || info.opcode == Opcode::Call)
      continue;
    std::vector<fb::Buffer> buffers;
    for (size_t i = 0; i < info.buffers.size() && !info.anyBuffers; ++i)
      buffers.push_back(buffer(i));
    std::vector<int64_t> fields(info.fields.size());
    for (const auto &[name, value] : std::initializer_list<std::pair<const char *, int64_t>>{
             {"width", 4}, {"count", 16}, {"dtype", int64_t(fb::DType::f32)}, {"offset", 1}})
      if (int at = fieldIndex(info.opcode, name); at >= 0)
        fields[static_cast<size_t>(at)] = value;
    builder.add(step, info.opcode, info.opcode == Opcode::Send ? 1 : 0, buffers, fields, note);
  }
}

// By this rule a trace is matched with its plan, and the runtime has its own: they must be one for all instructions.
TEST(TracedInstructions, NamesAreThoseThatARunWrites) {
  PlanBuilder builder({{"dp", 2}});
  unsigned region = builder.region("communication", fb::RegionKind::communication, 256);
  builder.group({0});
  builder.generated("kernel", {});
  auto &step = builder.program("train_step");
  for (const char *note : {"", "node 'a\tb' (Mul)"})
    addAll(builder, step, region, note);
  const fb::Plan &plan = builder.open();

  ChromeTrace trace;
  LocalWorld world(2);
  cleave_kernel_fn kernels[] = {nothing};
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r)
    threads.emplace_back([&, r] {
      Rank rank;
      RankOptions options;
      options.rank = r;
      options.trace = &trace;
      Status status = Rank::create(plan, kernels, options, world.communicator(r), &rank);
      if (status.isOk())
        status = rank.run(*findProgram(plan, "train_step"));
      EXPECT_TRUE(status.isOk()) << status.message();
    });
  for (std::thread &thread : threads)
    thread.join();

  std::vector<std::string> expected, found;
  for (uint32_t i = 0; i < lengthOf(plan.programs()->Get(0)->instructions()); ++i)
    expected.push_back(view::tracedName(plan, InstructionView(*plan.programs()->Get(0)->instructions()->Get(i))));
  const nlohmann::json file = nlohmann::json::parse(trace.json());
  for (const auto &event : file["traceEvents"])
    if (event["ph"] == "X")
      found.push_back(event["name"]);
  for (const std::string &name : std::vector<std::string>(expected)) // of two ranks
    expected.push_back(name);
  std::sort(expected.begin(), expected.end());
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, expected);
}

} // namespace
