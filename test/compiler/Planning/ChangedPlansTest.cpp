// Plans of all forms that planning knows (two buckets, padded ones, FSDP, hybrid, micro-batches, offload, whole
// parameters of ZeRO-1, a parameter server). Each one is proved. None is proved with one instruction dropped, with one
// field of a collective changed, or with a segment moved. PlanVerifierTest changes events.
#include "compiler/Planning/Build/PlanWriter.h"
#include "compiler/Planning/Passes.h"
#include "compiler/Planning/Pipeline.h"
#include "compiler/Planning/Verify/PlanVerifier.h"
#include "runtime/plan/InstructionView.h"
#include "runtime/plan/PlanReader.h"

#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Plan/IR/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

using namespace cleave;
using rt::Opcode;
namespace fb = rt::fb;

namespace {

std::unique_ptr<fb::PlanT> planOf(const std::string &file) {
  mlir::MLIRContext context;
  context.loadDialect<CleaveDialect, plan::PlanDialect, mlir::func::FuncDialect, mlir::shard::ShardDialect,
                      mlir::ub::UBDialect>();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(CLEAVE_TEST_SOURCE_DIR "/compiler/Planning/" + file, &context);
  // Programs without an update leave gradients that nobody reads. They become buffers here, because buffers are saved
  // and so every byte of them matters.
  bool hasUpdate = false;
  if (module)
    module->walk([&](ReadOp) { hasUpdate = true; });
  for (StateOp state : module ? llvm::to_vector(module->getOps<StateOp>()) : llvm::SmallVector<StateOp>())
    if (!hasUpdate && state.getRole() == Role::Gradient) {
      state->setAttr(state.getRoleAttrName(), RoleAttr::get(&context, Role::Buffer));
      state->removeAttr(state.getSlotAttrName());
    }
  mlir::PassManager manager(&context);
  manager.addNestedPass<mlir::func::FuncOp>(plan::createPlanInPlace());
  plan::buildPlanningPipeline(manager, {});
  if (!module || mlir::failed(manager.run(*module)))
    return nullptr;
  llvm::Expected<std::string> bytes = plan::writePlan(*module);
  if (!bytes) {
    ADD_FAILURE() << llvm::toString(bytes.takeError());
    return nullptr;
  }
  return std::unique_ptr<fb::PlanT>(fb::GetPlan(bytes->data())->UnPack());
}

// Why the reader or the proof refuses the plan. Empty if it is accepted.
std::string refusalOf(const fb::PlanT &plan) {
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishPlanBuffer(builder, fb::Plan::Pack(builder, &plan));
  const fb::Plan *opened = nullptr;
  if (rt::Status status = rt::openPlan(builder.GetBufferPointer(), builder.GetSize(), &opened); !status.isOk())
    return status.message();
  std::string text;
  for (const plan::Finding &finding : plan::verifyPlan(*opened))
    text += finding.rule + ": " + finding.text + "\n";
  return text;
}

std::vector<fb::PlanT *> kindsOf(fb::PlanT &plan) {
  std::vector<fb::PlanT *> kinds{&plan};
  for (auto &kind : plan.kinds)
    kinds.push_back(kind.get());
  return kinds;
}

struct At {
  fb::PlanT &kind;
  fb::ProgramT &program;
  size_t index;
  fb::InstructionT &instruction() const { return *program.instructions[index]; }
  Opcode opcode() const { return static_cast<Opcode>(program.instructions[index]->op); }
  std::string text() const {
    return kind.kind + " " + program.name + "[" + std::to_string(index) + "] " +
           std::string(rt::opcodeInfo(instruction().op)->mnemonic) + " " + instruction().note;
  }
};

// Changes one instruction after the other, and returns those whose change was accepted. `change` returns false if there
// is nothing to change. Each change is made in a copy of the plan.
std::vector<std::string> acceptedChanges(const std::string &file, const std::function<bool(At &)> &change,
                                         size_t *tried) {
  std::vector<std::string> accepted;
  std::unique_ptr<fb::PlanT> original = planOf(file);
  if (!original)
    return {"no plan"};
  std::string refusal = refusalOf(*original);
  EXPECT_EQ(refusal, "") << file;
  for (size_t kind = 0; kind < 1 + original->kinds.size(); ++kind) {
    const fb::PlanT &plan = kind == 0 ? *original : *original->kinds[kind - 1];
    for (size_t program = 0; program < plan.programs.size(); ++program)
      for (size_t index = 0; index < plan.programs[program]->instructions.size(); ++index) {
        fb::PlanT changed(*original);
        fb::PlanT &ofKind = *kindsOf(changed)[kind];
        At at{ofKind, *ofKind.programs[program], index};
        std::string text = file + ": " + at.text();
        if (!change(at))
          continue;
        ++*tried;
        if (refusalOf(changed).empty())
          accepted.push_back(text);
      }
  }
  return accepted;
}

// Instructions without a visible effect, which may be dropped, and the reason. Every other drop must be found.
struct Dead {
  const char *file, *instruction, *reason;
};
const Dead kDead[] = {
    {"rewritten-state.mlir", "train_step[1] copy",
     "the first value of @a, which is written again before anybody reads it"},
    {"rewritten-state.mlir", "train_step[5] copy", "the first value of @b, likewise"},
};

bool isDead(const std::string &file, const std::string &text) {
  return llvm::any_of(kDead,
                      [&](const Dead &dead) { return file == dead.file && text.find(dead.instruction) != text.npos; });
}

const char *const kFiles[] = {"accumulate-buckets.mlir",
                              "accumulate-fsdp.mlir",
                              "all-reduce-copy.mlir",
                              "gather-made-parts.mlir",
                              "infer-mlp.mlir",
                              "micro-batches.mlir",
                              "offload-reduced.mlir",
                              "offload-update.mlir",
                              "padded-buckets.mlir",
                              "rewritten-state.mlir",
                              "split-kinds.mlir",
                              "train-fsdp.mlir",
                              "train-two-buckets.mlir",
                              "train-shared-gradient.mlir",
                              "update-whole-parameters.mlir"};

void expectAllRefused(const std::function<bool(At &)> &change) {
  size_t tried = 0;
  for (const char *file : kFiles)
    for (const std::string &text : acceptedChanges(file, change, &tried))
      EXPECT_TRUE(isDead(file, text)) << "accepted: " << text;
  EXPECT_GT(tried, 10u);
}

TEST(ChangedPlans, DroppedInstructionsAreFound) {
  expectAllRefused([](At &at) {
    if (at.opcode() == Opcode::Record || at.opcode() == Opcode::Wait)
      return false;
    at.program.instructions.erase(at.program.instructions.begin() + static_cast<std::ptrdiff_t>(at.index));
    return true;
  });
}

bool setField(At &at, const char *name, const std::function<int64_t(int64_t)> &change) {
  int index = rt::fieldIndex(at.opcode(), name);
  if (index < 0)
    return false;
  int64_t &field = at.instruction().fields[static_cast<size_t>(index)], before = field;
  field = change(before);
  return field != before;
}

TEST(ChangedPlans, CollectivesOfAnotherTypeAreFound) {
  expectAllRefused([](At &at) { return setField(at, "dtype", [](int64_t) { return int64_t(fb::DType::i32); }); });
}

TEST(ChangedPlans, OtherReductionsAreFound) {
  expectAllRefused([](At &at) { return setField(at, "reduction", [](int64_t kind) { return (kind + 1) % 3; }); });
}

TEST(ChangedPlans, OtherGroupsAreFound) {
  size_t tried = 0;
  for (const char *file : {"train-fsdp.mlir", "accumulate-fsdp.mlir"})
    for (const std::string &text : acceptedChanges(
             file,
             [](At &at) {
               auto groups = static_cast<int64_t>(at.kind.groups.size());
               return setField(at, "group", [&](int64_t group) { return (group + 1) % groups; });
             },
             &tried))
      ADD_FAILURE() << "accepted: " << text;
  EXPECT_GT(tried, 0u);
}

TEST(ChangedPlans, TwiceTheSameIsFoundOrTheSame) {
  expectAllRefused([](At &at) { // a launch on what it has changed, a sum of sums
    bool repeats = at.opcode() == Opcode::AllReduce || at.opcode() == Opcode::ReduceScatter;
    if (repeats)
      at.program.instructions.insert(at.program.instructions.begin() + static_cast<std::ptrdiff_t>(at.index),
                                     std::make_unique<fb::InstructionT>(at.instruction()));
    return repeats;
  });
}

// The verifier reads `depends` to learn which ranks have equal values. So a change of it must be found.
TEST(ChangedPlans, ChangedDependencesAndSegmentsAreFound) {
  for (const char *file : kFiles) {
    std::unique_ptr<fb::PlanT> original = planOf(file);
    ASSERT_TRUE(original) << file;
    for (size_t i = 0; i < original->kernels.size(); ++i) {
      fb::PlanT changed(*original);
      fb::KernelT &kernel = *changed.kernels[i];
      if (kernel.kind != fb::KernelKind::generated)
        continue;
      kernel.depends.assign(kernel.operands.size(), 0);
      EXPECT_NE(refusalOf(changed), "") << file << ": " << kernel.name;
    }
    for (size_t i = 0; i < original->states.size(); ++i) {
      fb::PlanT changed(*original);
      if (changed.states[i]->segments.empty())
        continue;
      changed.states[i]->segments[0]->offset ^= 1;
      EXPECT_NE(refusalOf(changed), "") << file << ": " << changed.states[i]->name;
    }
  }
}

// If a collective is dropped, the message names it, in words that a user with the model understands.
TEST(ChangedPlans, MessagesNameTheMissingCollective) {
  size_t told = 0, tried = 0;
  for (const char *file : kFiles) {
    std::unique_ptr<fb::PlanT> original = planOf(file);
    ASSERT_TRUE(original) << file;
    // With several kinds, each one has only a part of the words. The three buckets of padded-buckets have the same
    // expression, so if one of them lacks a collective, the one of another bucket seems to have run for it.
    if (!original->kinds.empty() || std::string(file) == "padded-buckets.mlir")
      continue;
    for (size_t program = 0; program < original->programs.size(); ++program)
      for (size_t index = 0; index < original->programs[program]->instructions.size(); ++index) {
        auto opcode = static_cast<Opcode>(original->programs[program]->instructions[index]->op);
        if (!rt::isCollective(opcode))
          continue;
        fb::PlanT changed(*original);
        auto &list = changed.programs[program]->instructions;
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(index));
        std::string text = refusalOf(changed), name(rt::opcodeInfo(static_cast<unsigned>(opcode))->mnemonic);
        ++tried;
        bool isNamed = text.find(name + " over ") != text.npos && text.find("is missing") != text.npos;
        told += isNamed;
        EXPECT_TRUE(isNamed) << file << " " << name << ": " << text;
      }
  }
  EXPECT_GT(tried, 8u);
  EXPECT_EQ(told, tried);
}

// Messages also name a collective too many, and a collective with another reduction.
TEST(ChangedPlans, MessagesNameTheWrongCollective) {
  std::unique_ptr<fb::PlanT> original = planOf("train-two-buckets.mlir");
  ASSERT_TRUE(original);
  bool isFound = false;
  for (size_t program = 0; program < original->programs.size(); ++program)
    for (size_t index = 0; index < original->programs[program]->instructions.size(); ++index) {
      if (static_cast<Opcode>(original->programs[program]->instructions[index]->op) != Opcode::AllReduce)
        continue;
      isFound = true;
      fb::PlanT twice(*original), other(*original);
      auto &list = twice.programs[program]->instructions;
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(index), std::make_unique<fb::InstructionT>(*list[index]));
      EXPECT_NE(refusalOf(twice).find("has been reduced over dp before: a collective too many"), std::string::npos)
          << refusalOf(twice);
      At at{other, *other.programs[program], index};
      setField(at, "reduction", [](int64_t) { return int64_t(rt::Reduction::Max); });
      EXPECT_NE(refusalOf(other).find("(maximum) of f32; the model has all_reduce over dp (sum) of f32 there"),
                std::string::npos)
          << refusalOf(other);
    }
  EXPECT_TRUE(isFound);
}

// In a body that is called many times, a copy reads another element of a delay line. In the first calls both elements
// are zeros, so only later calls show it.
void expectDelayLine(const std::string &file, const std::string &body, int places) {
  std::unique_ptr<fb::PlanT> original = planOf(file);
  ASSERT_TRUE(original);
  EXPECT_EQ(refusalOf(*original), "");
  auto offsetOf = [&](int place) {
    for (auto &state : original->states)
      if (state->name == "d" + std::to_string(place))
        return state->offset;
    ADD_FAILURE() << place;
    return uint64_t{0};
  };
  bool isFound = false;
  for (size_t program = 0; program < original->programs.size(); ++program)
    for (size_t index = 0; index < original->programs[program]->instructions.size(); ++index) {
      fb::PlanT changed(*original);
      auto &same = *changed.programs[program];
      fb::InstructionT &copy = *same.instructions[index];
      if (same.name != body || static_cast<Opcode>(copy.op) != Opcode::Copy ||
          copy.buffers[0].offset() != offsetOf(places) || copy.buffers[1].offset() != offsetOf(places - 1))
        continue;
      isFound = true;
      const fb::Buffer &from = copy.buffers[1];
      copy.buffers[1] = fb::Buffer(offsetOf(places - 2), from.bytes(), from.region(), from.access(), from.share_of(),
                                   from.frame(), from.stride());
      EXPECT_NE(refusalOf(changed).find(body + " leaves something else"), std::string::npos) << refusalOf(changed);
    }
  EXPECT_TRUE(isFound);
}

TEST(ChangedPlans, WhatOnlyMiddleCallsShowIsFound) { expectDelayLine("delay-line.mlir", "micro", 6); }
TEST(ChangedPlans, WhatOnlyLaterMicroBatchesOfAStageShowIsFound) {
  expectDelayLine("delay-line-stages.mlir", "c0.fwd", 4);
}

// A plan that does not state its meaning is not proved.
TEST(ChangedPlans, WhatIsStatedCannotBeLeftOut) {
  std::unique_ptr<fb::PlanT> plan = planOf("train-two-buckets.mlir");
  ASSERT_TRUE(plan);
  fb::PlanT without(*plan);
  for (auto &program : without.programs)
    program->meaning.clear();
  EXPECT_NE(refusalOf(without), "");
  size_t stated = 0;
  for (auto &program : plan->programs)
    for (size_t i = 0; i < program->meaning.size(); ++i, ++stated) {
      fb::PlanT changed(*plan);
      auto &same = *changed.programs[&program - plan->programs.data()];
      same.meaning.erase(same.meaning.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_NE(refusalOf(changed), "") << program->meaning[i]->name;
    }
  EXPECT_GT(stated, 0u);
}

TEST(ChangedPlans, OneNumberIsStatedForEachName) {
  std::unique_ptr<fb::PlanT> plan = planOf("train-two-buckets.mlir");
  ASSERT_TRUE(plan);
  auto &meaning = plan->programs[0]->meaning;
  ASSERT_FALSE(meaning.empty());
  meaning.insert(meaning.begin(), std::make_unique<fb::MeaningT>(*meaning[0]));
  meaning[0]->number ^= 1;
  EXPECT_NE(refusalOf(*plan).find(" twice; expected one number for each name"), std::string::npos);
}

// All 128 bits of a number are compared.
TEST(ChangedPlans, BothHalvesOfWhatIsStatedCount) {
  std::unique_ptr<fb::PlanT> plan = planOf("train-two-buckets.mlir");
  ASSERT_TRUE(plan);
  for (uint64_t fb::MeaningT::*half : {&fb::MeaningT::number, &fb::MeaningT::high})
    for (size_t program = 0; program < plan->programs.size(); ++program)
      for (size_t i = 0; i < plan->programs[program]->meaning.size(); ++i) {
        fb::PlanT changed(*plan);
        fb::MeaningT &stated = *changed.programs[program]->meaning[i];
        stated.*half ^= 1;
        EXPECT_NE(refusalOf(changed), "") << stated.name;
      }
}

} // namespace
