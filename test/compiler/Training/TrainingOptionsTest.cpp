#include "compiler/Training/TrainingOptions.h"

#include "gtest/gtest.h"

using namespace cleave;

namespace {
template <typename T> std::string errorOf(llvm::Expected<T> value) {
  return value ? std::string() : llvm::toString(value.takeError());
}
} // namespace

TEST(TrainingOptions, OptimizersHavePyTorchsDefaults) {
  EXPECT_EQ(parseOptimizer("adamw")->weightDecay, 1e-2);
  EXPECT_EQ(parseOptimizer("adam")->weightDecay, 0);
  EXPECT_EQ(parseOptimizer("adadelta")->eps, 1e-6);
  EXPECT_EQ(parseOptimizer("sgd")->momentum, 0);
}

TEST(TrainingOptions, PrintingAndParsingAreInverse) {
  for (const char *text : {"sgd,momentum=0.9,nesterov=true", "adamw,beta1=0.8,weight_decay=0.1", "adadelta,rho=0.95"}) {
    std::string once = printOptimizer(*parseOptimizer(text));
    EXPECT_EQ(once, printOptimizer(*parseOptimizer(once))) << text;
  }
  std::string group = printParamGroup(*parseParamGroup("*.bias|*norm*:weight_decay=0,lr_scale=0.5"));
  EXPECT_EQ(group, printParamGroup(*parseParamGroup(group)));
}

TEST(TrainingOptions, MistakesAreNamed) {
  EXPECT_NE(errorOf(parseOptimizer("adamx")).find("expected sgd, adam, adamw or adadelta"), std::string::npos);
  EXPECT_NE(errorOf(parseOptimizer("adam,momentum=0.9")).find("has no option 'momentum'"), std::string::npos);
  EXPECT_NE(errorOf(parseOptimizer("adam,beta1=1")).find("below 1"), std::string::npos);
  EXPECT_NE(errorOf(parseOptimizer("adam,eps=nan")).find("got: 'nan'"), std::string::npos);
  EXPECT_NE(errorOf(parseOptimizer("sgd,nesterov=true")).find("needs momentum"), std::string::npos);
  EXPECT_NE(errorOf(parseParamGroup("*.bias")).find("PATTERN:key=value"), std::string::npos);
  EXPECT_NE(errorOf(parseLossAverage("mean")).find("'global' or 'rank'"), std::string::npos);
}
