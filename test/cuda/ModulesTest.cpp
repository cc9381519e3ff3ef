// Tests which code of a program's image the driver gets: machine code if it is for the GPU and the driver accepts it,
// else PTX. The driver is a table of functions of this test.
#include "runtime/device/cuda/CudaModules.h"

#include "runtime/base/Crc32c.h"

#include "gtest/gtest.h"

#include <cstring>
#include <set>
#include <vector>

using namespace cleave::rt;

namespace {

constexpr const char *kPtx = "//\n.version 8.0 // the model's", *kOwnPtx = ".version 8.0 // Cleave's own";
constexpr int kNoBinary = 209, kInvalidPtx = 218, kNotFound = 500;

// The requests that the driver got, and its answers.
struct Fake {
  std::vector<std::string> loaded; // the first bytes of each image
  int refusal = 0, ptxRefusal = 0; // the codes for machine code and for PTX
  std::string withMemory;          // a kernel that has variables
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
  if (!isCode && fake.ptxRefusal) {
    std::strcpy(static_cast<char *>(values[0]), "no .target of this GPU");
    return fake.ptxRefusal;
  }
  *module = new std::string(fake.loaded.back());
  return 0;
}

int global(cuda::Pointer *, size_t *, cuda::Handle, const char *name) {
  return name == fake.withMemory + "_counters" ? 0 : kNotFound;
}

int unload(cuda::Handle module) {
  delete static_cast<std::string *>(module);
  ++fake.unloaded;
  return 0;
}

int function(cuda::Handle *found, cuda::Handle module, const char *) {
  *found = module; // a module has one function, which has the module's handle
  return 0;
}

class CudaModulesTest : public testing::Test {
protected:
  void SetUp() override {
    fake = {};
    driver.moduleLoad = load;
    driver.moduleUnload = unload;
    driver.moduleFunction = function;
    driver.moduleGlobal = global;
  }
  static std::string image(const std::string &chip = "sm_90") {
    DeviceImageWriter writer(kPtx);
    writer.add({chip, kPtx, std::string("\x7f" "ELF of the model")});
    writer.add({chip, kOwnPtx, std::string("\x7f" "ELF own")});
    return writer.finish();
  }
  // The beginning of the module that a function comes from.
  static std::string of(cuda::Handle function) { return *static_cast<std::string *>(function); }
  // True if a GPU gets the model's kernels as machine code.
  bool takesCode(const std::string &chip, int major, int minor) {
    std::string bytes = image(chip);
    CudaModules modules;
    Status status = modules.open(driver, bytes, major, minor, 0);
    EXPECT_TRUE(status.isOk()) << status.message();
    cuda::Handle found = nullptr;
    EXPECT_TRUE(modules.generated("k0", 0, &found).isOk());
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
  EXPECT_FALSE(takesCode("sm_100a", 10, 3)); // for this architecture only
  EXPECT_FALSE(takesCode("sm_", 0, 0));
  EXPECT_FALSE(takesCode("sm_90b", 9, 0));
  EXPECT_FALSE(takesCode("compute_90", 9, 0));
  // The driver does not even see code for another GPU.
  fake.loaded.clear();
  takesCode("sm_80", 9, 0);
  EXPECT_EQ(fake.loaded, std::vector<std::string>{std::string(kPtx).substr(0, 8)});
}

TEST_F(CudaModulesTest, ModulesAreLoadedOnce) {
  std::string bytes = image();
  CudaModules modules;
  ASSERT_TRUE(modules.open(driver, bytes, 9, 0, 0).isOk());
  EXPECT_TRUE(modules.hasGenerated());
  cuda::Handle f = nullptr, g = nullptr;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(modules.generated("k0", 0, &f).isOk());
    ASSERT_TRUE(modules.own(kOwnPtx, "argmax", &g).isOk());
  }
  EXPECT_NE(f, g);
  EXPECT_EQ(fake.loaded.size(), 2u);
  // If the runtime has another text of Cleave's own kernels, it does not use the machine code of this one.
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
    ASSERT_TRUE(modules.open(driver, bytes, 9, 0, 0).isOk());
    cuda::Handle found = nullptr;
    ASSERT_TRUE(modules.generated("k0", 0, &found).isOk());
    EXPECT_EQ(of(found), std::string(kPtx).substr(0, 8));
    EXPECT_EQ(fake.loaded.size(), 2u);
    modules.close();
    EXPECT_EQ(fake.unloaded, 1);
  }
}

// PTX for an earlier GPU runs on all later ones. Machine code does not.
TEST_F(CudaModulesTest, LaterGpusTakePtx) {
  for (auto [major, minor] : {std::pair(10, 0), {10, 3}, {12, 0}, {13, 1}})
    EXPECT_FALSE(takesCode("sm_90", major, minor));
}

TEST_F(CudaModulesTest, WhereNeitherIsTakenTheErrorSaysWhy) {
  std::string bytes = image();
  fake.refusal = kNoBinary;
  fake.ptxRefusal = kInvalidPtx;
  CudaModules modules;
  std::string said = modules.open(driver, bytes, 9, 0, 0).message();
  for (const char *part : {"the model's kernels cannot be loaded on this GPU, which is sm_90",
                           "error 209: refused by the test", "PTX: CUDA: cuModuleLoadDataEx failed with error 218",
                           "no .target of this GPU", "compile the model again with a --target"})
    EXPECT_NE(said.find(part), std::string::npos) << part << " is not in " << said;
  said = CudaModules().open(driver, bytes, 12, 0, 0).message();
  EXPECT_NE(said.find("Machine code: the program has no machine code of them for sm_120. PTX: "), std::string::npos)
      << said;
  cuda::Handle found = nullptr;
  said = modules.own(kOwnPtx, "argmax", &found).message();
  EXPECT_NE(said.find("Cleave's own kernels cannot be loaded on this GPU"), std::string::npos) << said;
  modules.close();
}

// Two launches at the same time must not share a kernel's variables.
TEST_F(CudaModulesTest, AKernelWithMemoryHasOneForEachStream) {
  std::string bytes = image();
  fake.withMemory = "sums";
  CudaModules modules;
  ASSERT_TRUE(modules.open(driver, bytes, 9, 0, 0).isOk());
  cuda::Handle found[5], plain[2];
  for (unsigned i = 0; i < 5; ++i) // of streams 2, 0, 1, 2, 0
    ASSERT_TRUE(modules.generated("sums", (i + 2) % 3, &found[i]).isOk());
  for (unsigned stream : {0, 1})
    ASSERT_TRUE(modules.generated("plain", stream, &plain[stream]).isOk());
  EXPECT_EQ(std::set<cuda::Handle>(std::begin(found), std::end(found)).size(), 3u);
  EXPECT_EQ(found[3], found[0]);
  EXPECT_EQ(found[4], found[1]);
  EXPECT_EQ(plain[0], plain[1]);
  EXPECT_EQ(fake.loaded.size(), 3u);
  modules.close();
  EXPECT_EQ(fake.unloaded, 3);
}

// No library is open here. The messages must still name the call that failed.
TEST_F(CudaModulesTest, ErrorsOfLibrariesThatAreNotOpen) {
  for (auto *check : {cuda::check, cuda::checkBlas, cuda::checkDnn, cuda::checkNccl})
    EXPECT_NE(check(7, "a call").message().find("a call failed with "), std::string::npos);
}

TEST_F(CudaModulesTest, NoImage) {
  CudaModules modules;
  ASSERT_TRUE(modules.open(driver, {}, 9, 0, 0).isOk());
  EXPECT_FALSE(modules.hasGenerated());
  cuda::Handle found = nullptr;
  ASSERT_TRUE(modules.own(kOwnPtx, "argmax", &found).isOk());
  EXPECT_EQ(of(found), ".version");
  modules.close();
}

TEST_F(CudaModulesTest, EveryDamagedByteIsFound) {
  const std::string whole = image();
  DeviceImage view;
  ASSERT_TRUE(DeviceImage::open(whole, &view).isOk());
  EXPECT_STREQ(view.ptx(), kPtx);
  EXPECT_EQ(whole, image()); // the same bytes each time
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    Status status = DeviceImage::open(damaged, &view);
    ASSERT_FALSE(status.isOk()) << "byte " << i;
    EXPECT_NE(status.message().find("compile the model"), std::string::npos) << status.message();
    EXPECT_EQ(CudaModules().open(driver, damaged, 9, 0, 0).code(), status.code());
  }
  EXPECT_TRUE(fake.loaded.empty());
}

// Offsets of the numbers that DeviceImage.cpp writes. A test changes one of them, and corrects the checksums.
struct Forgery {
  static constexpr size_t kHead = 32, kPart = 48, kParts = 12, kBytes = 16, kTableChecksum = 24, kChecksum = 28;
  std::string bytes;

  template <typename T> Forgery &set(size_t at, T value) {
    std::memcpy(&bytes[at], &value, sizeof value);
    return *this;
  }
  template <typename T> T get(size_t at) const {
    T value;
    std::memcpy(&value, &bytes[at], sizeof value);
    return value;
  }
  std::string sealed(uint32_t parts) {
    set(kTableChecksum, crc32c(&bytes[kHead], parts * kPart));
    set(kChecksum, crc32c(bytes.data(), kChecksum));
    return bytes;
  }
};

TEST_F(CudaModulesTest, NoPlaceOfAForgedImageIsBelieved) {
  const std::string whole = image();
  auto expectRefused = [&](const std::string &bytes, const char *word) {
    // No memory follows the bytes, so the sanitizers find an access beyond them.
    std::vector<char> exact(bytes.begin(), bytes.end());
    DeviceImage view;
    std::string said = DeviceImage::open({exact.data(), exact.size()}, &view).message();
    EXPECT_NE(said.find(word), std::string::npos) << said;
    EXPECT_NE(said.find("compile the model again"), std::string::npos) << said;
  };
  ASSERT_EQ(Forgery{whole}.sealed(3), whole);
  const uint64_t kLarge[] = {UINT64_MAX, UINT64_MAX - 31, uint64_t{1} << 63, whole.size(), whole.size() + 1};
  for (uint64_t value : kLarge)
    for (uint32_t part : {0, 1, 2}) {
      size_t at = Forgery::kHead + part * Forgery::kPart;
      expectRefused(Forgery{whole}.set(at, value).sealed(3), "does not follow what precedes it");
      expectRefused(Forgery{whole}.set(at + 8, value).sealed(3), "goes beyond the end");
    }
  for (uint32_t parts : {0u, 1000u, UINT32_MAX})
    expectRefused(Forgery{whole}.set(Forgery::kParts, parts).sealed(3), "no room for a table");
  for (uint64_t bytes : {uint64_t{0}, uint64_t{whole.size() - 1}, UINT64_MAX})
    expectRefused(Forgery{whole}.set(Forgery::kBytes, bytes).sealed(3), "bytes; expected");
  for (size_t size = 0; size < whole.size(); ++size) // truncated
    expectRefused(whole.substr(0, size), size < Forgery::kHead ? "less than its head" : "bytes; expected");
  expectRefused(Forgery{whole + '!'}.set(Forgery::kBytes, uint64_t{whole.size() + 1}).sealed(3), "after its last part");
  // A text without a NUL would be read beyond the bytes.
  Forgery endless{whole};
  auto offset = endless.get<uint64_t>(Forgery::kHead), bytes = endless.get<uint64_t>(Forgery::kHead + 8);
  endless.bytes[offset + bytes - 1] = '!';
  expectRefused(endless.set(Forgery::kHead + 28, crc32c(&endless.bytes[offset], bytes)).sealed(3),
                "its PTX has no end");
}

} // namespace
