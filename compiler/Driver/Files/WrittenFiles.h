// Lists the files that `cleave compile` has written, on one line:
//
//   wrote mlp (program, 1.2 MiB) and mlp.weights/model.safetensors (weights, 480.0 MiB), in place of an older mlp
//
// As with other compilers, a file that has the output's name is replaced; the line says so.
#ifndef CLEAVE_COMPILER_DRIVER_FILES_WRITTENFILES_H
#define CLEAVE_COMPILER_DRIVER_FILES_WRITTENFILES_H

#include <string>
#include <utility>
#include <vector>

namespace cleave {

class WrittenFiles {
public:
  // Must be constructed before anything is written, because later an older file cannot be told from the new one.
  explicit WrittenFiles(std::string output);

  void add(std::string path, std::string content) { files.emplace_back(std::move(path), std::move(content)); }
  void setKernelCache(std::string folder) { kernelCache = std::move(folder); }

  std::string text() const;

private:
  std::string output;
  bool isReplaced;    // there was a file of the output's name
  bool hasOldWeights; // there were weights beside it
  std::string kernelCache;
  std::vector<std::pair<std::string, std::string>> files; // path, content
};

} // namespace cleave

#endif
