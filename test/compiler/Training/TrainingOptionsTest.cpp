#include "compiler/Training/TrainingOptions.h"

#include "gtest/gtest.h"

using namespace cleave;

namespace {
template <typename T> std::string errorOf(llvm::Expected<T> value) {
  return value ? std::string() : llvm::toString(value.takeError());
}
} // namespace

TEST(TrainingOptions, OptimizersHavePyTorchsDefaults) {
  EXPECT_EQ(parseOptimizer("adamw")->settings.get("weight_decay"), 1e-2);
  EXPECT_EQ(parseOptimizer("adam")->settings.get("weight_decay"), 0);
  EXPECT_EQ(parseOptimizer("adadelta")->settings.get("eps"), 1e-6);
  EXPECT_EQ(parseOptimizer("sgd")->settings.get("momentum"), 0);
}

TEST(TrainingOptions, PrintingAndParsingAreInverse) {
  for (const char *text : {"sgd,momentum=0.9,nesterov=true", "adamw,beta1=0.8,weight_decay=0.1", "adadelta,rho=0.95"}) {
    std::string once = printOptimizer(*parseOptimizer(text));
    EXPECT_EQ(once, printOptimizer(*parseOptimizer(once))) << text;
  }
  std::string group = printParamGroup(*parseParamGroup("*.bias|*norm*:weight_decay=0,lr_scale=0.5"));
  EXPECT_EQ(group, printParamGroup(*parseParamGroup(group)));
}

TEST(TrainingOptions, PrecisionByPartsAndAlone) {
  EXPECT_EQ(printPrecision(*parsePrecision("bf16")), "param=bf16,reduce=bf16");
  EXPECT_EQ(printPrecision(*parsePrecision("buffer=fp16,param=bf16")), "param=bf16,buffer=fp16");
  EXPECT_TRUE(parsePrecision("")->isEmpty());
  EXPECT_EQ(errorOf(parsePrecision("f64")), "unknown type 'f64'; expected f32, bf16 or fp16");
  EXPECT_EQ(errorOf(parsePrecision("param=")), "unknown type ''; expected f32, bf16 or fp16");
  EXPECT_EQ(errorOf(parsePrecision("params=bf16")), "there is no part 'params'; expected param, reduce or buffer");
  EXPECT_EQ(errorOf(parsePrecision("param=bf16,param=f32")), "'param' is given twice");
}

TEST(TrainingOptions, LossScale) {
  for (const char *text : {"dynamic", "dynamic,init=1024,interval=5,growth=4,backoff=0.25", "none", "auto", "128"}) {
    std::string once = printLossScale(*parseLossScale(text));
    EXPECT_EQ(once, printLossScale(*parseLossScale(once))) << text;
  }
  EXPECT_EQ(parseLossScale("dynamic")->init, 65536);
  EXPECT_EQ(parseLossScale("0.5")->init, 0.5);
  EXPECT_EQ(errorOf(parseLossScale("dynamik")),
            "expected dynamic, none or a positive number (in f32); got: 'dynamik'; did you mean 'dynamic'?");
  EXPECT_EQ(errorOf(parseLossScale("-1")), "expected dynamic, none or a positive number (in f32); got: '-1'");
  EXPECT_EQ(errorOf(parseLossScale("inf")), "expected dynamic, none or a positive number (in f32); got: 'inf'");
  EXPECT_EQ(errorOf(parseLossScale("dynamic,growth=1")), "'growth' must be a number above 1 (in f32); got: '1'");
  EXPECT_EQ(errorOf(parseLossScale("dynamic,backoff=1")),
            "'backoff' must be a number above 0 and below 1 (in f32); got: '1'");
  for (const char *steps : {"0", "16777217"})
    EXPECT_EQ(errorOf(parseLossScale(std::string("dynamic,interval=") + steps)),
              std::string("'interval' must be a number of steps from 1 to 16777216; got: '") + steps + "'");
  EXPECT_EQ(errorOf(parseLossScale("dynamic,init=8,init=16")), "'init' is given twice");
  EXPECT_EQ(errorOf(parseLossScale("dynamic,start=3")),
            "there is no 'start'; expected init, growth, backoff or interval");
}

TEST(TrainingOptions, MistakesAreNamed) {
  EXPECT_NE(errorOf(parseOptimizer("adamx")).find("expected sgd, adam, adamw, adadelta"), std::string::npos);
  EXPECT_NE(errorOf(parseOptimizer("adam,momentum=0.9")).find("has no option 'momentum'"), std::string::npos);
  EXPECT_NE(errorOf(parseOptimizer("adam,beta1=1")).find("below 1"), std::string::npos);
  EXPECT_NE(errorOf(parseOptimizer("adam,eps=nan")).find("got: 'nan'"), std::string::npos);
  EXPECT_NE(errorOf(parseOptimizer("sgd,nesterov=true")).find("needs momentum"), std::string::npos);
  EXPECT_NE(errorOf(parseParamGroup("*.bias")).find("PATTERN:key=value"), std::string::npos);
  EXPECT_EQ(errorOf(parseParamGroup("*.bias:weight_decay=0,lr_scale=2,weight_decay=1")),
            "option 'weight_decay' of parameter group '*.bias' is given twice");
  EXPECT_NE(errorOf(parseLossAverage("mean")).find("'global' or 'rank'"), std::string::npos);
}
