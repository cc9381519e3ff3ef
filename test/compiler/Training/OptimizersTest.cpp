// The registry of optimizers: which registrations are valid, and that every optimizer's settings have their declared
// ranges.
#include "compiler/Training/Optimizers/Optimizer.h"
#include "compiler/Training/TrainingOptions.h"

#include "gtest/gtest.h"

#include <limits>

using namespace cleave;

namespace {

OptimizerStates noStates(const OptimizerSettings &) { return {}; }
void update(OptimizerUpdate &u) { u.descend(u.grad); }
void otherUpdate(OptimizerUpdate &u) { u.descend(u.grad); }

std::string mistakesOf(Optimizer optimizer) {
  registerOptimizer(std::move(optimizer));
  llvm::Error error = checkOptimizers();
  return error ? llvm::toString(std::move(error)) : "";
}

std::string errorOf(const std::string &text) {
  auto parsed = parseOptimizer(text);
  return parsed ? "" : llvm::toString(parsed.takeError());
}

std::string typed(const Optimizer &optimizer, const OptimizerSetting &setting, const std::string &value) {
  return optimizer.name + "," + setting.key + "=" + value;
}

} // namespace

TEST(Optimizers, MistakesOfADeclarationAreTold) {
  using S = OptimizerSetting;
  EXPECT_EQ(mistakesOf({"a,b", "", {}, noStates, update}), "optimizer 'a,b': the name has letters, digits, '_' and '-'");
  EXPECT_EQ(mistakesOf({"x1", "", {}, nullptr, update}), "optimizer 'x1': expected functions that give the states and the update");
  EXPECT_EQ(mistakesOf({"x1", "", {}, noStates, nullptr}), "optimizer 'x1': expected functions that give the states and the update");
  EXPECT_EQ(mistakesOf({"x1", "", {S::number("lr", 1, 0, 2, "")}, noStates, update}),
            "optimizer 'x1': setting 'lr': the learning rate is not compiled in; the program has it (train --lr)");
  EXPECT_EQ(mistakesOf({"x1", "", {S::number("a=b", 1, 0, 2, "")}, noStates, update}),
            "optimizer 'x1': setting 'a=b': expected letters, digits and '_'");
  EXPECT_EQ(mistakesOf({"x1", "", {S::number("a", 2, 0, 2, "")}, noStates, update}),
            "optimizer 'x1': setting 'a': the default is not in the range [low, high)");
  EXPECT_EQ(mistakesOf({"x1", "", {S::flag("a", ""), S::flag("a", "")}, noStates, update}),
            "optimizer 'x1': setting 'a' is declared twice");
  for (auto states : {+[](const OptimizerSettings &) { return OptimizerStates{{"master"}}; },
                      +[](const OptimizerSettings &) { return OptimizerStates{{"a.b"}}; },
                      +[](const OptimizerSettings &) { return OptimizerStates{{"m"}, {"m"}}; }})
    EXPECT_NE(mistakesOf({"x1", "", {}, states, update}).find("each name once"), std::string::npos);
  EXPECT_EQ(mistakesOf({"x1", "", {}, noStates, update, nullptr, 0}), "optimizer 'x1': expected a learning rate above 0");
  EXPECT_EQ(findOptimizer("x1"), nullptr);
}

TEST(Optimizers, ANameIsTakenOnce) {
  EXPECT_EQ(mistakesOf({"sgd", "", {}, noStates, update}),
            "optimizer 'sgd': an optimizer of that name is there already; choose another name");
  const Optimizer *sgd = findOptimizer("sgd");
  EXPECT_EQ(mistakesOf({"mine", "", {}, noStates, update}), "");
  EXPECT_EQ(mistakesOf({"mine", "", {}, noStates, update}), ""); // the library is named twice
  EXPECT_NE(mistakesOf({"mine", "", {}, noStates, otherUpdate}).find("choose another name"), std::string::npos);
  EXPECT_EQ(findOptimizer("sgd"), sgd);
  EXPECT_NE(errorOf("mime").find("or mine"), std::string::npos);
}

// For all registered optimizers, including future ones of Cleave.
TEST(Optimizers, SettingsAreRefusedOutsideTheirRanges) {
  for (const Optimizer *optimizer : allOptimizers()) {
    std::string all = printOptimizer(*parseOptimizer(optimizer->name));
    EXPECT_EQ(all, printOptimizer(*parseOptimizer(all)));
    EXPECT_NE(errorOf(optimizer->name + ",unknown=1").find("has no option 'unknown'"), std::string::npos);
    EXPECT_NE(errorOf(optimizer->name + ",lr=1").find("train --lr"), std::string::npos);
    for (const OptimizerSetting &setting : optimizer->settings) {
      SCOPED_TRACE(optimizer->name + ", " + setting.key);
      EXPECT_FALSE(setting.help.empty());
      EXPECT_NE(optimizerHelp().find(setting.key + "="), std::string::npos);
      std::string once = setting.key + "=" + (setting.isFlag ? "false" : "0.5");
      EXPECT_EQ(errorOf(optimizer->name + "," + once), "");
      EXPECT_NE(errorOf(optimizer->name + "," + once + "," + once).find("given twice"), std::string::npos);
      for (const char *bad : {"", "nan", "inf", "-inf", "1e39", "-1e39", "1e-50", "-1", "x", "0x", "1 2"})
        EXPECT_NE(errorOf(typed(*optimizer, setting, bad)).find("option '" + setting.key + "' must be"), std::string::npos) << bad;
      if (!setting.isFlag && !std::isinf(setting.high)) {
        EXPECT_NE(errorOf(typed(*optimizer, setting, std::to_string(setting.high))), "");
      }
    }
  }
}
