#include "compiler/Driver/TargetMachineOption.h"

#include "compiler/Support/Error.h"
#include "compiler/Support/InputFile.h"
#include "compiler/Support/Usage.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace cleave;

static constexpr size_t kLargestFile = size_t{1} << 20;

llvm::Expected<TargetMachine> cleave::findTargetMachine(llvm::StringRef name) {
  TargetMachine machine;
  if (const char *json = knownMachineJson(std::string_view(name.data(), name.size()))) {
    if (rt::Status status = readMachine(json, &machine); !status.isOk())
      return makeError("--target-machine " + name + ": " + status.message());
    return machine;
  }
  if (!llvm::sys::fs::exists(name))
    return usageError("--target-machine " + name, "there is neither a machine of this name nor a file; machines are " +
                                                      llvm::join(knownMachines(), ", "));
  auto buffer = readInputFile(name, "a machine's rates as JSON");
  if (!buffer)
    return buffer.takeError();
  llvm::StringRef text = (*buffer)->getBuffer();
  if (text.size() > kLargestFile)
    return makeError(name + ": expected a machine's rates as JSON, a few hundred bytes; got: a file of " +
                     llvm::Twine(text.size()) + " bytes");
  if (rt::Status status = readMachine(std::string_view(text.data(), text.size()), &machine); !status.isOk())
    return makeError(name + ": " + status.message());
  return machine;
}
