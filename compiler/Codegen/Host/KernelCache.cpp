#include "compiler/Codegen/Host/KernelCache.h"

#include "compiler/Codegen/Host/BuildId.h"
#include "compiler/Support/TemporaryFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <unistd.h>

using namespace cleave;
namespace fs = llvm::sys::fs;

static constexpr size_t kChecksumBytes = 32;

static std::string checksum(llvm::StringRef bytes) {
  std::array<uint8_t, kChecksumBytes> hash = llvm::SHA256::hash(llvm::arrayRefFromStringRef(bytes));
  return std::string(hash.begin(), hash.end());
}

// Returns a hash of the build ids of the program and all its libraries; empty if one has no build id.
static std::string buildIdsOfThisProcess() {
  struct Ids {
    std::string text;
    bool areComplete = true;
  } ids;
  auto collect = [](dl_phdr_info *object, size_t, void *data) {
    auto *ids = static_cast<Ids *>(data);
    std::string id = buildIdOf(*object);
    ids->areComplete = ids->areComplete && !id.empty();
    ids->text += id + "\n";
    return 0;
  };
  dl_iterate_phdr(collect, &ids);
  return ids.areComplete ? checksum(ids.text) : "";
}

// Entries are executed, so nobody else may be able to write to the folder.
static bool isOurs(llvm::StringRef folder) {
  fs::file_status status;
  if (fs::status(folder, status) || !fs::is_directory(status))
    return false;
  return status.getUser() == geteuid() && !(status.permissions() & (fs::group_write | fs::others_write));
}

std::optional<KernelCache> KernelCache::in(llvm::StringRef folder) {
  KernelCache cache;
  cache.folder = folder.str();
  cache.compiler = buildIdsOfThisProcess();
  if (cache.compiler.empty() || fs::create_directories(folder, true, fs::owner_all) || !isOurs(folder))
    return std::nullopt;
  return cache;
}

static llvm::StringRef choiceOfUser() {
  const char *value = std::getenv("CLEAVE_KERNEL_CACHE");
  return value ? value : "";
}

static bool isFolder(llvm::StringRef choice) { return !choice.empty() && choice != "on" && choice != "off"; }

std::string KernelCache::refusedFolder() {
  llvm::StringRef chosen = choiceOfUser();
  return isFolder(chosen) && !in(chosen) ? chosen.str() : "";
}

std::optional<KernelCache> KernelCache::ofUser() {
  llvm::StringRef chosen = choiceOfUser();
  if (chosen == "off")
    return std::nullopt;
  if (isFolder(chosen))
    return in(chosen);
  llvm::SmallString<128> path;
  // An empty or relative path would be a folder that came with somebody's model.
  if (!llvm::sys::path::cache_directory(path) || !llvm::sys::path::is_absolute(path))
    return std::nullopt;
  llvm::sys::path::append(path, "cleave", "kernels");
  return in(path);
}

std::string KernelCache::key(llvm::StringRef kernel, const HostTarget &target) const {
  std::string text;
  llvm::raw_string_ostream(text) << compiler << '\0' << target.cpu << '\0' << target.features << '\0'
                                 << target.vectorWidth << '\0' << target.hasFma << '\0' << kernel;
  return llvm::toHex(checksum(text), /*LowerCase=*/true);
}

std::string KernelCache::path(llvm::StringRef key) const {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "llvmcache-" + key); // the name that pruneCache() knows
  return path.str().str();
}

// The checksum includes the key: an entry under another entry's name is another kernel's code.
static std::string entryChecksum(llvm::StringRef key, llvm::StringRef object) { return checksum((key + object).str()); }

std::optional<std::string> KernelCache::find(llvm::StringRef key) const {
  if (!fs::is_regular_file(path(key))) // a pipe or a device has no end
    return std::nullopt;
  auto buffer = llvm::MemoryBuffer::getFile(path(key), /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return std::nullopt;
  llvm::StringRef bytes = (*buffer)->getBuffer(), object = bytes.drop_front(std::min(bytes.size(), kChecksumBytes));
  if (bytes.take_front(kChecksumBytes) != entryChecksum(key, object))
    return std::nullopt;
  return object.str();
}

void KernelCache::add(llvm::StringRef key, llvm::StringRef object) const {
  auto file = TemporaryFile::createBeside(path(key));
  if (!file)
    return llvm::consumeError(file.takeError());
  llvm::Error error = file->write(entryChecksum(key, object) + object.str());
  llvm::consumeError(error ? std::move(error) : file->keepAs(path(key)));
}

void KernelCache::prune() const {
  llvm::CachePruningPolicy policy;
  policy.MaxSizeBytes = 256u << 20;
  policy.MaxSizePercentageOfAvailableSpace = 100; // otherwise a full disk would empty the cache
  llvm::pruneCache(folder, policy);
}
