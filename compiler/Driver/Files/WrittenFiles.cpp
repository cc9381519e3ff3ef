#include "compiler/Driver/Files/WrittenFiles.h"

#include "compiler/Driver/Files/WeightsImage.h"
#include "runtime/base/HumanUnits.h"

#include "llvm/Support/FileSystem.h"

#include <algorithm>

using namespace cleave;
namespace fs = llvm::sys::fs;

WrittenFiles::WrittenFiles(std::string path)
    : output(std::move(path)), isReplaced(fs::exists(output)), hasOldWeights(fs::exists(weightsPathBeside(output))) {}

static std::string describe(const std::pair<std::string, std::string> &file) {
  uint64_t bytes = 0;
  std::string size = fs::file_size(file.first, bytes) ? "" : ", " + rt::bytesText(bytes);
  return file.first + " (" + file.second + size + ")";
}

std::string WrittenFiles::text() const {
  std::string text = "wrote ";
  for (size_t i = 0; i < files.size(); ++i)
    text += (i == 0 ? "" : i + 1 < files.size() ? ", " : " and ") + describe(files[i]);
  if (isReplaced)
    text += ", in place of an older " + output;
  bool usesWeights = std::any_of(files.begin(), files.end(),
                                 [this](const auto &file) { return file.first == weightsPathBeside(output); });
  if (hasOldWeights && !usesWeights)
    text += "; " + weightsPathBeside(output) + " is of an older program, and this one does not read it";
  if (!kernelCache.empty())
    text += "; the code of its kernels is also kept in " + kernelCache;
  return text + "\n";
}
