#include "cleave/cleave.h"
#include "runtime/state/CheckpointSave.h"
#include "test/runtime/TempDir.h"
#include "test/runtime/main/TinyModel.h"

#include <atomic>
#include <future>
#include <mutex>
#include <thread>

extern "C" int run_c_api(const cleave_model *model, const char *directory);

TEST(CApi, AProgramInC) {
  cleave::test::TempDir dir;
  cleave::rt::test::TinyModel model(2);
  EXPECT_EQ(run_c_api(&model.model(), dir.path().c_str()), 0);
}

// A model written by hand, or by a build that has lost a section.
TEST(CApi, RefusesAModelWithoutItsTables) {
  cleave::rt::test::TinyModel whole(1);
  for (auto lose : {+[](cleave_model &m) { m.plan = nullptr; }, +[](cleave_model &m) { m.kernel_facts = nullptr; }}) {
    cleave_model model = whole.model();
    lose(model);
    cleave_session *session = nullptr;
    EXPECT_EQ(cleave_session_create(&model, nullptr, &session), CLEAVE_INVALID_ARGUMENT);
    EXPECT_NE(std::string(cleave_last_error()).find("no facts of its kernels (NULL)"), std::string::npos);
    EXPECT_EQ(session, nullptr);
  }
}

TEST(CApi, SavesWhereNobodyElseDoes) {
  cleave::test::TempDir dir;
  cleave::rt::test::TinyModel model(2);
  cleave_session *session = nullptr;
  ASSERT_EQ(cleave_session_create(&model.model(), nullptr, &session), CLEAVE_OK);
  cleave::rt::CheckpointLock lock;
  ASSERT_TRUE(cleave::rt::CheckpointLock::take(dir.path(), &lock).isOk());
  EXPECT_EQ(cleave_save_checkpoint(session, dir.path().c_str()), CLEAVE_INVALID_ARGUMENT);
  EXPECT_NE(std::string(cleave_last_error()).find("another process is saving into"), std::string::npos);
  EXPECT_EQ(cleave_save_checkpoint(session, (dir / "other/new").c_str()), CLEAVE_OK);
  EXPECT_EQ(cleave_load_checkpoint(session, ""), CLEAVE_NOT_FOUND); // an empty path is not the root of the file system
  lock = {};
  EXPECT_EQ(cleave_save_checkpoint(session, dir.path().c_str()), CLEAVE_OK);
  EXPECT_EQ(cleave_save_checkpoint(session, dir.path().c_str()), CLEAVE_OK);
  cleave_session_destroy(session);
}

// Every other process would train the whole model, too. Programs that do not train may run in several processes.
TEST(CApi, DoesNotTrainAsOneOfSeveralProcessesOfTorchrun) {
  cleave::rt::test::TinyModel one(1), two(2);
  ::setenv("TORCHELASTIC_RUN_ID", "none", 1);
  ::setenv("RANK", "1", 1);
  ::setenv("WORLD_SIZE", "2", 1);
  cleave_session *session = nullptr;
  EXPECT_EQ(cleave_session_create(&two.model(), nullptr, &session), CLEAVE_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(cleave_last_error()).find("started by torchrun"), 0u) << cleave_last_error();
  ASSERT_EQ(cleave_session_create(&one.model(), nullptr, &session), CLEAVE_OK) << cleave_last_error();
  float x[8] = {};
  ASSERT_EQ(cleave_set_input(session, "train_step", "x", x, sizeof x), CLEAVE_OK) << cleave_last_error();
  EXPECT_EQ(cleave_train_step(session, 0, nullptr), CLEAVE_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(cleave_last_error()).find("started by torchrun"), 0u) << cleave_last_error();
  for (const char *name : {"TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE"})
    ::unsetenv(name);
  EXPECT_EQ(cleave_train_step(session, 0, nullptr), CLEAVE_OK) << cleave_last_error();
  cleave_session_destroy(session);
}

// An input that was never set has no value, although its memory has bytes: zeros, or the input of another program.
TEST(CApi, RefusesInputsThatNobodyHasSet) {
  cleave::rt::test::TinyModel model(1);
  cleave_session *session = nullptr;
  ASSERT_EQ(cleave_session_create(&model.model(), nullptr, &session), CLEAVE_OK);
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {};
  double loss = -1;
  cleave_evaluation sums = {sizeof sums, -1, -1, -1, -1};
  auto refused = [&](cleave_code code, const char *message) {
    EXPECT_EQ(code, CLEAVE_INVALID_ARGUMENT);
    EXPECT_STREQ(cleave_last_error(), message);
  };
  refused(cleave_train_step(session, 0.1, &loss), "cleave_train_step: input 'x' of train_step has no value: call "
                                                  "cleave_set_input() with \"train_step\" and \"x\" first");
  EXPECT_EQ(cleave_step_count(session), 0u);
  ASSERT_EQ(cleave_set_input(session, "train_step", "x", x, sizeof x), CLEAVE_OK);
  ASSERT_EQ(cleave_train_step(session, 0, &loss), CLEAVE_OK);
  const char *const kNoEvaluation = "cleave_evaluate: input 'x' of evaluate has no value: call cleave_set_input() with "
                                    "\"evaluate\" and \"x\" first";
  refused(cleave_evaluate(session, &sums), kNoEvaluation);
  EXPECT_EQ(sums.count, -1);
  EXPECT_EQ(cleave_set_input(session, "evaluate", "x", x, 3),
            CLEAVE_INVALID_ARGUMENT); // a refused call does not set the input
  refused(cleave_evaluate(session, &sums), kNoEvaluation);
  refused(cleave_infer(session),
          "cleave_infer: input 'x' of infer has no value: call cleave_set_input() with \"infer\" and \"x\" first");
  refused(cleave_get_output(session, "infer", "y", y, sizeof y),
          "cleave_get_output: output 'y' has no value: infer has not run yet");
  ASSERT_EQ(cleave_set_input(session, "infer", "x", x, sizeof x), CLEAVE_OK);
  refused(cleave_get_output(session, "infer", "y", y, sizeof y),
          "cleave_get_output: output 'y' has no value: infer has not run yet");
  ASSERT_EQ(cleave_infer(session), CLEAVE_OK);
  EXPECT_EQ(cleave_get_output(session, "infer", "y", y, sizeof y), CLEAVE_OK);
  ASSERT_EQ(cleave_set_input(session, "evaluate", "x", x, sizeof x), CLEAVE_OK);
  EXPECT_EQ(cleave_evaluate(session, &sums), CLEAVE_OK);
  EXPECT_EQ(cleave_train_step(session, 0, &loss), CLEAVE_OK); // its input is still there
  cleave_session_destroy(session);
}

// A training step of another thread, which stays in its call until the test lets it continue.
class HeldStep {
public:
  HeldStep() {
    EXPECT_EQ(cleave_session_create(&model.model(), nullptr, &session), CLEAVE_OK);
    float x[16] = {};
    EXPECT_EQ(cleave_set_input(session, "train_step", "x", x, sizeof x), CLEAVE_OK);
    cleave::rt::test::duringTinyStep() = [&, goOn = mayGoOn.get_future().share()] {
      std::call_once(once, [&] { isInside.set_value(); });
      goOn.wait();
    };
    caller = std::thread([&] { code = cleave_train_step(session, 0, nullptr); });
    isInside.get_future().wait();
  }

  cleave_code finish() {
    mayGoOn.set_value();
    caller.join();
    cleave::rt::test::duringTinyStep() = nullptr;
    return code;
  }

  cleave::rt::test::TinyModel model{2};
  cleave_session *session = nullptr;

private:
  std::promise<void> isInside, mayGoOn;
  std::once_flag once;
  cleave_code code = CLEAVE_INTERNAL;
  std::thread caller;
};

// Two threads would call in no order, and their ranks could wait for each other forever. The first thread stays in its
// call until the second one has been refused.
TEST(CApi, RefusesASecondThread) {
  HeldStep step;
  EXPECT_EQ(cleave_train_step(step.session, 0, nullptr), CLEAVE_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(cleave_last_error()).find("another thread is in a call of this session"), 0u);
  EXPECT_EQ(step.finish(), CLEAVE_OK);
  EXPECT_EQ(cleave_train_step(step.session, 0, nullptr), CLEAVE_OK);
  EXPECT_EQ(cleave_step_count(step.session), 2u);
  cleave_session_destroy(step.session);
}

// If the session were destroyed during the call, the call's memory would be freed.
TEST(CApi, DestroyWaitsForTheCallThatRuns) {
  HeldStep step;
  std::atomic<bool> hasEnded{false};
  std::thread closer([&] {
    cleave_session_destroy(step.session);
    hasEnded = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(hasEnded);
  EXPECT_EQ(step.finish(), CLEAVE_OK);
  closer.join();
}

// Many threads call at once. Each call succeeds or is refused. The test counts those that succeeded.
TEST(CApi, CountsTheStepsOfAllThreads) {
  cleave::rt::test::TinyModel model(2);
  cleave_session *session = nullptr;
  ASSERT_EQ(cleave_session_create(&model.model(), nullptr, &session), CLEAVE_OK);
  float x[16] = {};
  ASSERT_EQ(cleave_set_input(session, "train_step", "x", x, sizeof x), CLEAVE_OK);
  std::atomic<unsigned> steps{0}, refused{0};
  auto train = [&] {
    for (int i = 0; i < 200; ++i) {
      cleave_code code = cleave_train_step(session, 0, nullptr);
      steps += code == CLEAVE_OK;
      refused += code == CLEAVE_INVALID_ARGUMENT;
    }
  };
  std::thread first(train), second(train), third(train);
  first.join(), second.join(), third.join();
  EXPECT_GT(steps, 0u);
  EXPECT_EQ(steps + refused, 600u);
  EXPECT_EQ(cleave_step_count(session), steps);
  cleave_session_destroy(session);
}
