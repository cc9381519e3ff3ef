#include "runtime/train/checkpoint/RunFacts.h"

#include <gtest/gtest.h>

using namespace cleave::rt;

namespace {

TEST(RunFacts, DifferencesAreToldAndAnotherModelIsRefused) {
  RunFacts saved = {
      {"model", "a.onnx"}, {"optimizer", "adamw"}, {"global-batch", "64"}, {"lr", "0.1"}, {"precision", ""}};
  std::string note = "old";
  EXPECT_TRUE(compareFacts(saved, saved, &note).isOk());
  EXPECT_EQ(note, "");
  RunFacts now = saved;
  now["global-batch"] = "32";
  now["precision"] = "bf16";
  now["optimizer"] = "adamw,weight_decay=0.1";
  ASSERT_TRUE(compareFacts(saved, now, &note).isOk());
  EXPECT_EQ(note, "optimizer adamw, now adamw,weight_decay=0.1; --precision the types of the model, now bf16; global "
                  "batch 64, now 32");
  now["model"] = "b.onnx";
  Status status = compareFacts(saved, now, &note);
  EXPECT_EQ(status.message().find("the checkpoint is of model 'a.onnx', this program was compiled from 'b.onnx'"), 0u)
      << status.message();
  EXPECT_TRUE(compareFacts({}, now, &note).isOk()); // from an earlier version
  EXPECT_EQ(note, "");
}

// If a compiler option that changes the step, or the data, differs, the message has the option's name.
TEST(RunFacts, OptionsAndDataAreTold) {
  for (const char *name : {"freeze", "tie", "buffers", "loss-scale", "data", "val-data"}) {
    RunFacts saved = {{name, "a"}}, now = {{name, ""}};
    std::string note;
    EXPECT_TRUE(differ(saved, now, name));
    EXPECT_FALSE(differ(saved, saved, name));
    EXPECT_FALSE(differ(saved, {}, name)); // from another version
    ASSERT_TRUE(compareFacts(saved, now, &note).isOk());
    EXPECT_EQ(note, "--" + std::string(name) + " a, now none");
  }
}

} // namespace
