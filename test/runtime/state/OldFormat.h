// Checkpoints as versions without checksums have saved them: what the reader must still take, and what lets hostile
// bytes reach the checks that come after the checksums.
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

// An index or a part, without the checksums in it.
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

// The files of a checkpoint, index first.
inline std::vector<std::string> filesOf(const std::string &checkpoint) {
  std::vector<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator(checkpoint))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace cleave::test

#endif
