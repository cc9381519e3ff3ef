// Checkpoints of versions without checksums. The reader must still read them. They also let hostile bytes reach the
// checks that come after the checksums.
#ifndef CLEAVE_TEST_RUNTIME_STATE_OLDFORMAT_H
#define CLEAVE_TEST_RUNTIME_STATE_OLDFORMAT_H

#include "runtime/state/CheckpointIndex.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace cleave::test {

inline std::string contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

inline void overwrite(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Returns an index or a part without its checksums.
inline std::string withoutChecksums(const std::string &image) {
  if (image.rfind("{", 0) == 0) {
    auto index = nlohmann::ordered_json::parse(image);
    index["format"] = 1;
    index.erase("parts");
    index.erase("crc32c");
    return index.dump(1) + "\n";
  }
  uint64_t size;
  std::memcpy(&size, image.data(), sizeof size);
  auto header = nlohmann::ordered_json::parse(image.substr(sizeof size, size));
  header.erase("__metadata__");
  std::string text = header.dump(), data = image.substr(sizeof size + size);
  size = text.size();
  return std::string(reinterpret_cast<const char *>(&size), sizeof size) + text + data;
}

// Returns the files of a checkpoint. The index is the first one.
inline std::vector<std::string> filesOf(const std::string &checkpoint) {
  std::vector<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator(checkpoint))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace cleave::test

#endif
