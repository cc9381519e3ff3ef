#include "cleave/cleave.h"
#include "runtime/state/CheckpointSave.h"
#include "test/runtime/TempDir.h"
#include "test/runtime/main/TinyModel.h"

#include <atomic>
#include <thread>

extern "C" int run_c_api(const cleave_model *model, const char *directory);

TEST(CApi, AProgramInC) {
  cleave::test::TempDir dir;
  cleave::rt::test::TinyModel model(2);
  EXPECT_EQ(run_c_api(&model.model(), dir.path().c_str()), 0);
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
  lock = {};
  EXPECT_EQ(cleave_save_checkpoint(session, dir.path().c_str()), CLEAVE_OK);
  EXPECT_EQ(cleave_save_checkpoint(session, dir.path().c_str()), CLEAVE_OK);
  cleave_session_destroy(session);
}

// Unordered, their ranks would wait for each other for ever.
TEST(CApi, RefusesASecondThread) {
  cleave::rt::test::TinyModel model(2);
  cleave_session *session = nullptr;
  ASSERT_EQ(cleave_session_create(&model.model(), nullptr, &session), CLEAVE_OK);
  float x[16] = {};
  ASSERT_EQ(cleave_set_input(session, "train_step", "x", x, sizeof x), CLEAVE_OK);
  std::atomic<int> steps{0}, refused{0}, others{0};
  auto train = [&] {
    for (int i = 0; i < 200; ++i) {
      cleave_code code = cleave_train_step(session, 0, nullptr);
      bool isRefusal = code == CLEAVE_INVALID_ARGUMENT &&
                       std::string(cleave_last_error()).find("another thread is in a call of this session") == 0;
      ++(code == CLEAVE_OK ? steps : isRefusal ? refused : others);
    }
  };
  std::thread first(train), second(train), third(train);
  first.join(), second.join(), third.join();
  EXPECT_EQ(others, 0);
  EXPECT_EQ(steps + refused, 600);
  EXPECT_EQ(cleave_step_count(session), static_cast<uint64_t>(steps));
  cleave_session_destroy(session);
}
