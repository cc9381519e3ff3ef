// The registry of optimizers: which registrations are valid, and that every optimizer's settings have their declared
// ranges.
#include "compiler/Training/Optimizers/Optimizer.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/TrainingOptions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <limits>

using namespace cleave;

namespace {

const char *kOneParameter = R"(
  cleave.state @scalar.lr : tensor<f32> {role = #cleave.role<scalar>,
    segments = [#cleave.segment<"scalar.lr", tensor<f32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @w : tensor<3xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"w", tensor<3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @w.grad : tensor<3xf32> {role = #cleave.role<gradient>, slot = "grad",
    segments = [#cleave.segment<"w", tensor<3xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
)";

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

// Registers an optimizer with this rule, a setting 'eps' and a state 'v', and builds the update of one parameter by it.
// Returns the first error.
std::string errorOfRule(const std::string &name, void (*rule)(OptimizerUpdate &)) {
  registerOptimizer({name,
                     "",
                     {OptimizerSetting::number("eps", 1e-8, 0, 1, "")},
                     [](const OptimizerSettings &) { return OptimizerStates{{"v"}}; },
                     rule});
  mlir::MLIRContext context;
  context.loadDialect<CleaveDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kOneParameter, &context);
  std::string first;
  mlir::ScopedDiagnosticHandler errors(&context, [&](mlir::Diagnostic &error) {
    if (first.empty())
      first = error.str();
  });
  BuildUpdateOptions options;
  options.optimizer = name;
  mlir::PassManager manager(&context);
  manager.addPass(createBuildUpdate(options));
  bool failed = mlir::failed(manager.run(*module));
  EXPECT_EQ(failed, !first.empty());
  return first;
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

// They are mistakes of a plug-in's author, who has only the message. The last test: the optimizers that it
// registers are wrong.
TEST(Optimizers, MistakesOfARuleAreTold) {
  EXPECT_EQ(errorOfRule("rule0", [](OptimizerUpdate &u) { u.descend(u.a.shift(u.state("v"), u.get("eps"))); }), "");
  EXPECT_EQ(errorOfRule("rule1", [](OptimizerUpdate &u) { u.descend(u.a.scale(u.grad, u.get("epsilon"))); }),
            "optimizer 'rule1': it reads the setting 'epsilon', and declares eps");
  EXPECT_EQ(errorOfRule("rule2", [](OptimizerUpdate &u) { u.state("vv") = u.grad; }),
            "optimizer 'rule2': it reads the state 'vv', and declares v");
  EXPECT_EQ(errorOfRule("rule3", [](OptimizerUpdate &u) { u.descend(u.a.div(u.grad, u.biasCorrection(0.9))); }),
            "optimizer 'rule3': 'cleave.div' op requires the same type for all operands and results");
  EXPECT_NE(errorOfRule("rule4", [](OptimizerUpdate &u) { u.state("v") = u.step; })
                .find("optimizer 'rule4': the parameter and the"),
            std::string::npos);
  EXPECT_EQ(mistakesOf({"rule5",
                        "",
                        {},
                        [](const OptimizerSettings &s) { return s.get("x") ? OptimizerStates{} : OptimizerStates{}; },
                        update}),
            "optimizer 'rule5': in its function of states it reads the setting 'x', and declares none");
  EXPECT_EQ(mistakesOf({"rule6",
                        "",
                        {},
                        noStates,
                        update,
                        [](const OptimizerSettings &s) { return std::string(s.isSet("y") ? "y" : ""); }}),
            "");
  EXPECT_EQ(errorOf("rule6"), "optimizer 'rule6': in its check it reads the setting 'y', and declares none");
  EXPECT_EQ(errorOfRule("rule7", [](OptimizerUpdate &u) { u.shrink(), u.descend(u.grad); }),
            "optimizer 'rule7': it reads the setting 'weight_decay', and declares eps");
  EXPECT_EQ(errorOfRule("rule8", [](OptimizerUpdate &u) { u.addWeightDecay(), u.descend(u.grad); }),
            "optimizer 'rule8': it reads the setting 'weight_decay', and declares eps");
  EXPECT_EQ(errorOfRule("rule9", [](OptimizerUpdate &) {}),
            "optimizer 'rule9': the parameter stays as it is; OptimizerUpdate::descend moves it, or assign to `param`");
}
