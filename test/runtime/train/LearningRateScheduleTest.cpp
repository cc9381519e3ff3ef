#include "runtime/train/loop/LearningRateSchedule.h"

#include <gtest/gtest.h>

using namespace cleave::rt;

namespace {

LearningRateSchedule schedule(const std::string &text) {
  LearningRateSchedule result;
  Status status = parseLearningRateSchedule(text, &result);
  EXPECT_TRUE(status.isOk()) << status.message();
  return result;
}

// The expected values were recorded from torch.optim.lr_scheduler (2.13), with optimizer.step() before
// scheduler.step().
void expectRates(const LearningRateSchedule &s, double lr, uint64_t total, const std::vector<double> &expected) {
  for (uint64_t k = 0; k < expected.size(); ++k)
    EXPECT_NEAR(s.rate(lr, k, 0, total), expected[k], 1e-12 * lr) << "step " << k;
}

TEST(LearningRateSchedule, Step) {
  expectRates(schedule("step,size=3,gamma=0.5"), 0.1, 12,
              {0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025, 0.025, 0.025, 0.0125, 0.0125, 0.0125});
}

TEST(LearningRateSchedule, Cosine) {
  expectRates(schedule("cosine,min=0.001"), 0.1, 12,
              {0.1, 0.09831332840130888, 0.09336825748732973, 0.0855017856687341, 0.07525000000000001,
               0.06331154273257479, 0.05050000000000001, 0.037688457267425236, 0.025750000000000016,
               0.015498214331265903, 0.007631742512670285, 0.0026866715986911243});
}

TEST(LearningRateSchedule, CosineWithWarmup) {
  expectRates(schedule("cosine,warmup=4"), 0.1, 12,
              {0.025, 0.05, 0.07500000000000001, 0.1, 0.1, 0.09619397662556434, 0.08535533905932738, 0.0691341716182545,
               0.05, 0.030865828381745515, 0.014644660940672627, 0.0038060233744356634});
}

TEST(LearningRateSchedule, Linear) {
  expectRates(schedule("linear,min=0.01"), 0.1, 12,
              {0.1, 0.09250000000000001, 0.085, 0.0775, 0.06999999999999999, 0.0625, 0.055, 0.0475, 0.04, 0.0325, 0.025,
               0.017499999999999998});
}

// A run that is resumed with more steps goes on along the same curve, and then stays at its end.
TEST(LearningRateSchedule, StepsOfItsOwn) {
  expectRates(schedule("linear,min=0.02,steps=4"), 0.1, 12, {0.1, 0.08, 0.06, 0.04, 0.02, 0.02});
  LearningRateSchedule s = schedule("cosine,warmup=1,min=0.001,steps=7");
  for (uint64_t k = 0; k < 10; ++k)
    EXPECT_EQ(s.rate(0.1, k, 0, 7), s.rate(0.1, k, 0, 12)) << "step " << k;
}

TEST(LearningRateSchedule, StepByEpoch) {
  // The MNIST tutorial: StepLR(step_size=1, gamma=0.7), called once for each epoch.
  for (const char *text : {"step,size=1epoch,gamma=0.7", "step,every=1epochs,gamma=0.7"}) {
    LearningRateSchedule s = schedule(text);
    EXPECT_DOUBLE_EQ(s.rate(1.0, 0, 0, 100), 1.0);
    EXPECT_DOUBLE_EQ(s.rate(1.0, 99, 1, 100), 0.7);
    EXPECT_DOUBLE_EQ(s.rate(1.0, 50, 2, 100), 0.7 * 0.7);
  }
}

TEST(LearningRateSchedule, MistakesAreNamed) {
  auto message = [](const char *text) {
    LearningRateSchedule s;
    return parseLearningRateSchedule(text, &s).message();
  };
  EXPECT_EQ(message("cosin"),
            "'cosin' is not a schedule; expected constant, step, cosine or linear; did you mean 'cosine'?");
  EXPECT_EQ(message("cosine,warmap=3"), "'cosine,warmap=3': unknown key 'warmap'; expected warmup, min or steps");
  EXPECT_EQ(message("linear,warmup=3,steps=3"),
            "'linear,warmup=3,steps=3': expected more steps than those of the warmup");
  EXPECT_EQ(message("cosine,steps=0"),
            "'cosine,steps=0': '0' is not a value for steps; expected a whole number of steps from 1");
  EXPECT_EQ(message("step,gamma=0.5"), "'step,gamma=0.5': step needs size=N or size=Nepoch");
  EXPECT_EQ(message("step,size=0"), "'step,size=0': '0' is not a value for size; expected a whole number of steps from "
                                    "1, or of epochs as in 2epoch");
  EXPECT_EQ(message("cosine,warmup=-1"),
            "'cosine,warmup=-1': '-1' is not a value for warmup; expected a whole number of steps from 0");
  EXPECT_EQ(message("cosine,min=-1"),
            "'cosine,min=-1': '-1' is not a value for min; expected a number of 0 or more (in f32)");
  EXPECT_EQ(message("step,size=1,gamma=0"),
            "'step,size=1,gamma=0': '0' is not a value for gamma; expected a positive number (in f32)");
  for (const char *text : {"step,size=2epoch,every=3", "step,every=3,size=2epoch", "step,size=2,size=2"})
    EXPECT_NE(message(text).find(" is given twice (size and every are the same)"), std::string::npos) << text;
  EXPECT_EQ(message("cosine,warmup=3,min=0,warmup=3"), "'cosine,warmup=3,min=0,warmup=3': warmup is given twice");
  EXPECT_EQ(message("cosine,warmup"), "'warmup': expected key=value");
}

} // namespace
