// Which entries the cache of compiled kernels finds, and which it must not find.
#include "compiler/Codegen/Host/KernelCache.h"
#include "compiler/Codegen/Host/BuildId.h"
#include "test/runtime/TempDir.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sys/stat.h>

using namespace cleave;
namespace files = std::filesystem;

namespace {

class KernelCacheTest : public testing::Test {
protected:
  std::string folder() { return directory / "kernels"; }
  KernelCache cache() { return *KernelCache::in(folder()); }
  // The path of the only entry.
  std::string entry() {
    EXPECT_EQ(std::distance(files::directory_iterator(folder()), files::directory_iterator()), 1);
    return files::directory_iterator(folder())->path();
  }

  test::TempDir directory;
  HostTarget target{"skylake-avx512", "+avx512f", 512, true};
};

} // namespace

TEST_F(KernelCacheTest, FindsWhatWasAdded) {
  std::string object("machine\0code", 12), key = cache().key("a kernel", target);
  EXPECT_EQ(cache().find(key), std::nullopt);
  cache().add(key, object);
  EXPECT_EQ(cache().find(key), object);
  cache().prune(); // it was used just now
  EXPECT_EQ(cache().find(key), object);
}

TEST_F(KernelCacheTest, KeysDifferInEachThingThatTheCodeDependsOn) {
  std::string key = cache().key("a kernel", target);
  EXPECT_EQ(key, cache().key("a kernel", target));
  EXPECT_NE(key, cache().key("another kernel", target));
  for (const HostTarget &other :
       {HostTarget{"znver4", target.features, 512, true}, HostTarget{target.cpu, "+avx2", 512, true},
        HostTarget{target.cpu, target.features, 256, true}, HostTarget{target.cpu, target.features, 512, false}})
    EXPECT_NE(key, cache().key("a kernel", other));
}

TEST_F(KernelCacheTest, DamagedEntriesAreNotThere) {
  std::string key = cache().key("a kernel", target);
  cache().add(key, "machine code");
  std::ifstream whole(entry(), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(whole), {}};
  auto foundIn = [&](const std::string &changed) {
    std::ofstream(entry(), std::ios::binary) << changed;
    return cache().find(key);
  };
  ASSERT_EQ(foundIn(bytes), "machine code");
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string flipped = bytes;
    flipped[i] ^= 1;
    EXPECT_EQ(foundIn(flipped), std::nullopt) << "byte " << i;
    EXPECT_EQ(foundIn(bytes.substr(0, i)), std::nullopt) << "the first " << i << " bytes";
  }
  cache().add(key, "machine code"); // a compiler that does not find the entry writes it again
  EXPECT_EQ(cache().find(key), "machine code");
}

// An entry was copied, renamed or restored under another name. It has the code of another kernel, which would run.
TEST_F(KernelCacheTest, AnEntryUnderAnotherKeyIsNotThere) {
  std::string key = cache().key("a kernel", target), other = cache().key("another kernel", target);
  cache().add(key, "machine code");
  files::rename(entry(), folder() + "/llvmcache-" + other);
  EXPECT_EQ(cache().find(other), std::nullopt);
}

TEST_F(KernelCacheTest, AnEntryThatIsNoFileIsNotThere) {
  std::string key = cache().key("a kernel", target), path = folder() + "/llvmcache-" + key;
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); // opening it would wait for a writer
  EXPECT_EQ(cache().find(key), std::nullopt);
  files::remove(path);
  files::create_symlink("/dev/zero", path);
  EXPECT_EQ(cache().find(key), std::nullopt);
  files::remove(path);
  files::create_directory(path);
  EXPECT_EQ(cache().find(key), std::nullopt);
}

TEST_F(KernelCacheTest, ACacheThatCannotBeWrittenIsNoError) {
  KernelCache lost = cache();
  files::remove_all(folder());
  lost.add(lost.key("a kernel", target), "machine code");
  EXPECT_EQ(lost.find(lost.key("a kernel", target)), std::nullopt);
  EXPECT_FALSE(KernelCache::in(directory.write("file", "")));
}

// Code from the cache is executed, so nobody else may be able to write an entry.
TEST_F(KernelCacheTest, AFolderThatOthersMayWriteToIsNotUsed) {
  files::create_directory(folder());
  for (files::perms others : {files::perms::others_write, files::perms::group_write}) {
    files::permissions(folder(), files::perms::owner_all | others);
    EXPECT_FALSE(KernelCache::in(folder()));
  }
  files::permissions(folder(), files::perms::owner_all);
  EXPECT_TRUE(KernelCache::in(folder()));
}

// A note with the paddings of its segment.
static std::string note(uint32_t type, const std::string &name, const std::string &text, size_t padding) {
  uint32_t sizes[] = {static_cast<uint32_t>(name.size()), static_cast<uint32_t>(text.size()), type};
  std::string bytes(reinterpret_cast<const char *>(sizes), sizeof sizes);
  for (const std::string *part : {&name, &text}) {
    bytes += *part;
    bytes.resize((bytes.size() + padding - 1) / padding * padding);
  }
  return bytes;
}

static const std::string kGnu("GNU\0", 4), kId("12345678901234567890");

TEST(BuildId, IsFoundAfterOtherNotes) {
  for (size_t padding : {4, 8}) {
    std::string before = note(5, kGnu, "123456789012", padding) + note(1, "a name", "x", padding);
    EXPECT_EQ(buildIdAmong(before + note(NT_GNU_BUILD_ID, kGnu, kId, padding), padding), kId);
    EXPECT_EQ(buildIdAmong(before, padding), "");
  }
}

TEST(BuildId, NothingIsReadBeyondDamagedNotes) {
  for (size_t padding : {4, 8}) {
    std::string whole = note(1, "other", "text", padding) + note(NT_GNU_BUILD_ID, kGnu, kId, padding);
    for (size_t size = 0; size < whole.size(); ++size) {
      std::unique_ptr<char[]> exact(new char[size]); // a sanitizer sees what lies beyond
      std::copy_n(whole.data(), size, exact.get());
      std::string id = buildIdAmong(llvm::StringRef(exact.get(), size), padding);
      EXPECT_TRUE(id.empty() || id == kId) << size;
    }
    for (size_t field : {0, 4})
      for (uint32_t bad : {0xffffffffu, 0xfffffffcu, 0x7fffffffu, 1000u}) {
        std::string damaged = whole;
        std::memcpy(&damaged[field], &bad, sizeof bad);
        EXPECT_EQ(buildIdAmong(damaged, padding), "");
      }
  }
}

TEST_F(KernelCacheTest, TheEnvironmentChoosesTheFolder) {
  setenv("CLEAVE_KERNEL_CACHE", "off", 1);
  EXPECT_FALSE(KernelCache::ofUser());
  setenv("CLEAVE_KERNEL_CACHE", folder().c_str(), 1);
  EXPECT_TRUE(KernelCache::ofUser());
  EXPECT_TRUE(files::is_directory(folder()));
  unsetenv("CLEAVE_KERNEL_CACHE");
  std::string home = directory / "home";
  setenv("XDG_CACHE_HOME", home.c_str(), 1);
  EXPECT_TRUE(KernelCache::ofUser());
  EXPECT_TRUE(files::is_directory(home + "/cleave/kernels"));
}
