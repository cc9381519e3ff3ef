// Pipelines made by hand that do something that the proof of bodies does not cover, and state it (Restate.h). Each one
// must be refused, although all its numbers are right.
#include "compiler/Planning/Verify/PlanVerifier.h"
#include "test/compiler/Planning/mutation/Restate.h"
#include "test/runtime/device/PipelinePlan.h"

#include <algorithm>

namespace cleave::mutation {
namespace {

namespace fb = rt::fb;
using rt::Opcode;
using rt::test::PipelineStage;
using rt::test::PlanBuilder;

enum Regions { kPersistent, kPort, kResidual, kStaging };

std::string findingsOf(PlanBuilder &builder, const Unstated &unstated = {}) {
  builder.pack(); // fills in the facts of the kernels
  EXPECT_TRUE(restate(builder.plan, unstated));
  std::string text;
  for (const plan::Finding &finding : plan::verifyPlan(builder.open()))
    text += finding.rule + ": " + finding.text + "\n";
  return text;
}

fb::ProgramT &programOf(fb::PlanT &plan, const std::string &name) {
  for (auto &program : plan.programs)
    if (program->name == name)
      return *program;
  ADD_FAILURE() << "no program " << name;
  return *plan.programs[0];
}

// Inserts an instruction at a position of the list.
void insert(fb::ProgramT &program, size_t at, Opcode opcode, std::vector<fb::Buffer> buffers,
            std::vector<int64_t> fields) {
  PlanBuilder::add(program, opcode, 0, std::move(buffers), std::move(fields));
  std::rotate(program.instructions.begin() + static_cast<std::ptrdiff_t>(at), program.instructions.end() - 1,
              program.instructions.end());
}

fb::Buffer buffer(unsigned region, uint64_t offset, fb::Access access, int16_t frame = 0) {
  return fb::Buffer(offset, 64, static_cast<uint16_t>(region), access, 0, frame, 0);
}

class ForgedPipelines : public ::testing::Test {
protected:
  void expectRefused(const std::string &why, const Unstated &unstated = {}) {
    std::string found = findingsOf(builder, unstated);
    EXPECT_NE(found.find(why), std::string::npos) << "no '" << why << "' in:\n" << found;
  }
  // The first stage's bodies find `given` in its weights. After the calls, it has zeros there on all ranks.
  void giveWeights(Opcode opcode, std::vector<fb::Buffer> given, std::vector<int64_t> fields) {
    fb::ProgramT &step = programOf(first, "train_step");
    auto isCall = [](const auto &each) { return each->op == static_cast<uint16_t>(Opcode::Call); };
    auto after = std::find_if(step.instructions.rbegin(), step.instructions.rend(), isCall).base();
    insert(step, static_cast<size_t>(after - step.instructions.begin()), Opcode::Fill,
           {buffer(kPersistent, 0, fb::Access::write)}, {0, 4});
    insert(step, 0, opcode, std::move(given), std::move(fields));
  }
  PlanBuilder builder = rt::test::makePipeline(2, 6);
  fb::PlanT &first = builder.plan, &last = *builder.plan.kinds[0];
};

TEST_F(ForgedPipelines, NothingIsWrongWithTheOriginal) { EXPECT_EQ(findingsOf(builder), ""); }

TEST_F(ForgedPipelines, AListThatSavesAndRestoresAGradient) {
  fb::ProgramT &list = programOf(first, "steady");
  insert(list, 0, Opcode::Copy, {buffer(kStaging, 0, fb::Access::write), buffer(kPersistent, 128, fb::Access::read)},
         {});
  insert(list, list.instructions.size(), Opcode::Copy,
         {buffer(kPersistent, 128, fb::Access::write), buffer(kStaging, 0, fb::Access::read)}, {});
  expectRefused("calls others among instructions of its own");
}

TEST_F(ForgedPipelines, AStepThatWritesWhatBodiesLeaveEachOther) {
  insert(programOf(first, "train_step"), 0, Opcode::Fill, {buffer(kResidual, 0, fb::Access::write)}, {0, 4});
  expectRefused("writes to bytes that are not its own");
}

TEST_F(ForgedPipelines, ABodyThatWritesItsInput) {
  fb::ProgramT &body = programOf(first, "forward");
  insert(body, body.instructions.size(), Opcode::Fill, {buffer(kPort, 0, fb::Access::write)}, {0, 4});
  expectRefused("writes to bytes that are not its own");
}

TEST_F(ForgedPipelines, ABodyThatWritesAnotherFrame) {
  insert(programOf(first, "forward"), 0, Opcode::Fill, {buffer(kResidual, 192, fb::Access::write, 1)}, {0, 4});
  expectRefused("writes a frame of region 'residual' that is not the one");
}

TEST_F(ForgedPipelines, ABodyThatReadsWhatAnotherHasLeftInStaging) {
  fb::ProgramT &forward = programOf(first, "forward"), &backward = programOf(first, "backward");
  insert(forward, 0, Opcode::Fill, {buffer(kStaging, 0, fb::Access::write)}, {0, 4});
  insert(backward, 0, Opcode::Copy, {buffer(kPersistent, 0, fb::Access::write), buffer(kStaging, 0, fb::Access::read)},
         {});
  expectRefused("reads bytes that hold no value");
}

TEST_F(ForgedPipelines, ARoomThatFollowsBlocks) {
  first.regions[kResidual]->counter = fb::Counter::block;
  expectRefused("region 'residual', which it uses, follows the counter block");
}

TEST_F(ForgedPipelines, ABroadcastBetweenKindsInABody) {
  for (fb::PlanT *kind : {&first, &last}) {
    kind->groups.push_back(std::make_unique<fb::GroupT>());
    kind->groups.back()->axes = {0};
    fb::ProgramT &body = *kind->programs.emplace_back(std::make_unique<fb::ProgramT>());
    body.name = "share";
    PlanBuilder::add(body, Opcode::Broadcast, PipelineStage::kReduce,
                     {buffer(kPersistent, 0, kind == &first ? fb::Access::read : fb::Access::write)},
                     {static_cast<int64_t>(kind->groups.size() - 1), int64_t(fb::DType::f32), 0, 16, 0});
    fb::ProgramT &step = programOf(*kind, "train_step");
    insert(step, 0, Opcode::Call, {}, {static_cast<int64_t>(kind->programs.size() - 1), 1, 0, 0, 0});
  }
  expectRefused("broadcasts between kinds of ranks");
}

TEST_F(ForgedPipelines, AStepThatGivesBodiesTheSameOnAllRanks) {
  giveWeights(Opcode::Fill, {buffer(kPersistent, 0, fb::Access::write)}, {1, 4});
  EXPECT_EQ(findingsOf(builder), "");
}

TEST_F(ForgedPipelines, AStepThatGivesBodiesOtherWeightsOnEachRank) {
  giveWeights(Opcode::Copy, {buffer(kPersistent, 0, fb::Access::write), buffer(kPort, 0, fb::Access::read)}, {});
  expectRefused("leaves other values on each rank of dp in state 'w0' before a call");
}

TEST_F(ForgedPipelines, AStepThatGivesBodiesARanksPart) {
  giveWeights(Opcode::Fill, {fb::Buffer(0, 32, kPersistent, fb::Access::write, 1, 0, 32)}, {1, 4});
  expectRefused("leaves no value in a part of state 'w0' before a call");
}

TEST_F(ForgedPipelines, AStepThatReadsWhatNobodyStates) {
  insert(programOf(last, "forward_backward"), 0, Opcode::Fill, {buffer(kPersistent, 128, fb::Access::write)}, {0, 4});
  expectRefused("state 'dw1': forward_backward leaves something else in it", {{"forward_backward", "dw1"}});
}

// A second entry calls the first one's body. In this entry, the same bytes have other values.
TEST_F(ForgedPipelines, AnEntryWithOtherPorts) {
  for (fb::PlanT *kind : {&first, &last}) {
    const fb::ProgramT &step = programOf(*kind, "train_step");
    auto other = std::make_unique<fb::ProgramT>();
    other->name = "other_step";
    other->entry = true;
    for (auto [ports, to] : {std::pair(&step.inputs, &other->inputs), std::pair(&step.outputs, &other->outputs)})
      for (const auto &port : *ports) {
        to->push_back(std::make_unique<fb::PortT>(*port));
        to->back()->name += "'";
      }
    for (const auto &instruction : step.instructions)
      other->instructions.push_back(std::make_unique<fb::InstructionT>(*instruction));
    other->events = step.events;
    kind->programs.push_back(std::move(other));
  }
  expectRefused("has other inputs there than");
}

} // namespace
} // namespace cleave::mutation
