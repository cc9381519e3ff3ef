// Which code of a program's image goes to the driver: machine code where it is for the GPU and is taken, else PTX. The
// driver is a table of functions here.
#include "runtime/device/cuda/CudaModules.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace cleave::rt;

namespace {

constexpr const char *kPtx = "//\n.version 8.0 // the model's", *kOwnPtx = ".version 8.0 // Cleave's own";
constexpr int kNoBinary = 209;

// What was asked of the driver, and what it answers.
struct Fake {
  std::vector<std::string> loaded; // the first bytes of each image
  int refusal = 0;                 // of machine code
  int unloaded = 0;
} fake;

int load(cuda::Handle *module, const void *image, unsigned, int *, void **values) {
  const char *text = static_cast<const char *>(image);
  fake.loaded.emplace_back(text, strnlen(text, 8));
  bool isCode = fake.loaded.back().compare(0, 4, "\x7f" "ELF") == 0;
  EXPECT_TRUE(!isCode || reinterpret_cast<uintptr_t>(image) % 8 == 0);
  if (isCode && fake.refusal) {
    std::strcpy(static_cast<char *>(values[0]), "refused by the test");
    return fake.refusal;
  }
  *module = new std::string(fake.loaded.back());
  return 0;
}

int unload(cuda::Handle module) {
  delete static_cast<std::string *>(module);
  ++fake.unloaded;
  return 0;
}

int function(cuda::Handle *found, cuda::Handle module, const char *) {
  *found = module; // one function: tells which module it is of
  return 0;
}

int errorText(int, const char **text) {
  *text = "a text";
  return 0;
}

class CudaModulesTest : public testing::Test {
protected:
  void SetUp() override {
    fake = {};
    driver.moduleLoad = load;
    driver.moduleUnload = unload;
    driver.moduleFunction = function;
    driver.errorName = errorText;
    driver.errorText = errorText;
  }
  static std::string image(const std::string &chip = "sm_90") {
    DeviceImageWriter writer(kPtx);
    writer.add({chip, kPtx, std::string("\x7f" "ELF of the model")});
    writer.add({chip, kOwnPtx, std::string("\x7f" "ELF own")});
    return writer.finish();
  }
  // The begin of the module that a function comes from.
  static std::string of(cuda::Handle function) { return *static_cast<std::string *>(function); }
  // Whether a GPU gets the model's kernels as machine code.
  bool takesCode(const std::string &chip, int major, int minor) {
    std::string bytes = image(chip);
    CudaModules modules;
    Status status = modules.open(driver, bytes.data(), major, minor, 0);
    EXPECT_TRUE(status.isOk()) << status.message();
    cuda::Handle found = nullptr;
    EXPECT_TRUE(modules.generated("k0", &found).isOk());
    bool isCode = of(found)[0] == '\x7f';
    modules.close();
    return isCode;
  }
  cuda::Driver driver;
};

TEST_F(CudaModulesTest, MachineCodeIsForItsGpus) {
  EXPECT_TRUE(takesCode("sm_90", 9, 0));
  EXPECT_TRUE(takesCode("sm_80", 8, 0));
  EXPECT_TRUE(takesCode("sm_80", 8, 9)); // a later minor version
  EXPECT_TRUE(takesCode("sm_100", 10, 3));
  EXPECT_FALSE(takesCode("sm_86", 8, 0)); // an earlier one
  EXPECT_FALSE(takesCode("sm_80", 9, 0)); // another major version
  EXPECT_FALSE(takesCode("sm_90", 10, 0));
  EXPECT_TRUE(takesCode("sm_90a", 9, 0));
  EXPECT_FALSE(takesCode("sm_100a", 10, 3)); // of one alone
  EXPECT_FALSE(takesCode("sm_", 0, 0));
  EXPECT_FALSE(takesCode("sm_90b", 9, 0));
  EXPECT_FALSE(takesCode("compute_90", 9, 0));
  // Code for another GPU is not even shown to the driver.
  fake.loaded.clear();
  takesCode("sm_80", 9, 0);
  EXPECT_EQ(fake.loaded, std::vector<std::string>{std::string(kPtx).substr(0, 8)});
}

TEST_F(CudaModulesTest, ModulesAreLoadedOnce) {
  std::string bytes = image();
  CudaModules modules;
  ASSERT_TRUE(modules.open(driver, bytes.data(), 9, 0, 0).isOk());
  EXPECT_TRUE(modules.hasGenerated());
  cuda::Handle f = nullptr, g = nullptr;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(modules.generated("k0", &f).isOk());
    ASSERT_TRUE(modules.own(kOwnPtx, "argmax", &g).isOk());
  }
  EXPECT_NE(f, g);
  EXPECT_EQ(fake.loaded.size(), 2u);
  // A runtime with another text of Cleave's own kernels does not take the code of this one.
  ASSERT_TRUE(modules.own(".version 8.1 // later", "argmax", &g).isOk());
  EXPECT_EQ(of(g), ".version");
  modules.close();
  EXPECT_EQ(fake.unloaded, 3);
}

TEST_F(CudaModulesTest, RefusedCodeFallsBackToPtx) {
  std::string bytes = image();
  for (int refusal : {kNoBinary, 200 /* invalid image: of a later CUDA than the driver */}) {
    fake = {};
    fake.refusal = refusal;
    CudaModules modules;
    ASSERT_TRUE(modules.open(driver, bytes.data(), 9, 0, 0).isOk());
    cuda::Handle found = nullptr;
    ASSERT_TRUE(modules.generated("k0", &found).isOk());
    EXPECT_EQ(of(found), std::string(kPtx).substr(0, 8));
    EXPECT_EQ(fake.loaded.size(), 2u);
    modules.close();
    EXPECT_EQ(fake.unloaded, 1);
  }
}

TEST_F(CudaModulesTest, NoImage) {
  CudaModules modules;
  ASSERT_TRUE(modules.open(driver, nullptr, 9, 0, 0).isOk());
  EXPECT_FALSE(modules.hasGenerated());
  cuda::Handle found = nullptr;
  ASSERT_TRUE(modules.own(kOwnPtx, "argmax", &found).isOk());
  EXPECT_EQ(of(found), ".version");
  modules.close();
}

TEST_F(CudaModulesTest, EveryDamagedByteIsFound) {
  const std::string whole = image();
  DeviceImage view;
  ASSERT_TRUE(DeviceImage::open(whole.data(), &view).isOk());
  EXPECT_STREQ(view.ptx(), kPtx);
  EXPECT_EQ(whole, image()); // the same bytes each time
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    Status status = DeviceImage::open(damaged.data(), &view);
    ASSERT_FALSE(status.isOk()) << "byte " << i;
    EXPECT_NE(status.message().find("compile the model"), std::string::npos) << status.message();
    EXPECT_EQ(CudaModules().open(driver, damaged.data(), 9, 0, 0).code(), status.code());
  }
  EXPECT_TRUE(fake.loaded.empty());
}

} // namespace
