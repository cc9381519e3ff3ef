#include "cleave/cleave.h"
#include "runtime/state/CheckpointSave.h"
#include "test/runtime/TempDir.h"
#include "test/runtime/main/TinyModel.h"

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
