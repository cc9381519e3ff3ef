#include "test/runtime/TempDir.h"
#include "test/runtime/main/TinyModel.h"

extern "C" int run_c_api(const cleave_model *model, const char *directory);

TEST(CApi, AProgramInC) {
  cleave::test::TempDir dir;
  cleave::rt::test::TinyModel model(2);
  EXPECT_EQ(run_c_api(&model.model(), dir.path().c_str()), 0);
}
