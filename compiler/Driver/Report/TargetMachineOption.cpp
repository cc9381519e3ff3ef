#include "compiler/Driver/Report/TargetMachineOption.h"

#include "compiler/Calibration/Calibrate.h"
#include "compiler/Support/Error.h"
#include "compiler/Support/InputFile.h"
#include "compiler/Support/Usage.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/TargetFamily.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace cleave;

static constexpr size_t kLargestFile = size_t{1} << 20;

static llvm::Expected<MachineModel> readMachineFile(llvm::StringRef file) {
  MachineModel machine;
  auto buffer = readInputFile(file, "a machine's rates as JSON");
  if (!buffer)
    return buffer.takeError();
  llvm::StringRef text = (*buffer)->getBuffer();
  if (text.size() > kLargestFile)
    return makeError(file + ": expected a machine's rates as JSON, at most " + llvm::Twine(kLargestFile) +
                     " bytes; got: a file of " + llvm::Twine(text.size()) + " bytes");
  if (rt::Status status = readMachine(std::string_view(text.data(), text.size()), &machine); !status.isOk())
    return makeError(file + ": " + status.message());
  return machine;
}

// Returns the machine with a name of the table, or from a file.
static llvm::Expected<ChosenMachine> namedMachine(llvm::StringRef name) {
  ChosenMachine chosen;
  if (const char *json = knownMachineJson(std::string_view(name.data(), name.size()))) {
    if (rt::Status status = readMachine(json, &chosen.machine); !status.isOk())
      return makeError("--target-machine " + name + ": " + status.message());
    return chosen;
  }
  if (!llvm::sys::fs::exists(name))
    return usageError("--target-machine " + name, "there is neither a machine of this name nor a file; machines are " +
                                                      llvm::join(knownMachines(), ", ") + ", calibrated and none");
  auto machine = readMachineFile(name);
  if (!machine)
    return makeError("--target-machine " + llvm::toString(machine.takeError()));
  return ChosenMachine{std::move(*machine), name.str()};
}

std::string cleave::calibratedMachineFile(unsigned threads) {
  constexpr const char *kFormat = "machines-1"; // other versions of Cleave may have files of other formats
  llvm::SmallString<128> path;
  if (!llvm::sys::path::cache_directory(path))
    return "";
  std::string name = calibration::processorName() + " " + std::to_string(calibration::usableCores()) + " cores " +
                     std::to_string(threads) + " threads",
              file;
  for (char c : name)
    if (llvm::isAlnum(c))
      file += llvm::toLower(c);
    else if (!file.empty() && file.back() != '-')
      file += '-';
  llvm::sys::path::append(path, "cleave", kFormat, file + ".json");
  return path.str().str();
}

llvm::Expected<std::optional<ChosenMachine>> cleave::chooseMachine(llvm::StringRef option, const rt::fb::Plan &plan) {
  if (option == "none")
    return std::nullopt;
  bool isAsked = option == "calibrated";
  if (!option.empty() && !isAsked) {
    auto named = namedMachine(option);
    if (!named)
      return named.takeError();
    return std::move(*named);
  }
  unsigned threads = std::max(1u, plan.threads());
  std::string file = calibratedMachineFile(threads);
  bool isForHosts = rt::targetFamily(rt::textOf(plan.target())) == "host";
  bool isThere = isForHosts && !file.empty() && llvm::sys::fs::exists(file);
  if (!isThere && !isAsked)
    return std::nullopt;
  if (!isForHosts)
    return usageError("--target-machine calibrated", "the plan is for " + std::string(rt::textOf(plan.target())) +
                                                         ", and hosts alone are calibrated; give a machine's name or "
                                                         "file");
  if (!isThere)
    return usageError("--target-machine calibrated",
                      "this machine has not been measured for ranks of " + std::to_string(threads) +
                          (threads == 1 ? " thread" : " threads") + "; run cleave calibrate" +
                          (threads == 1 ? "" : " --threads " + std::to_string(threads)) +
                          (file.empty() ? " -o FILE and give FILE" : ""));
  auto machine = readMachineFile(file);
  if (!machine)
    return makeError(llvm::toString(machine.takeError()) +
                     "; run cleave calibrate again, or give --target-machine none");
  return ChosenMachine{std::move(*machine), file};
}
