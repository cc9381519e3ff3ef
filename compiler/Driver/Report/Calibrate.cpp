#include "compiler/Calibration/Calibrate.h"
#include "compiler/Driver/Commands.h"
#include "compiler/Driver/Files/OutputPath.h"
#include "compiler/Driver/Report/TargetMachineOption.h"
#include "compiler/Inspect/Human.h"
#include "compiler/Support/Directories.h"
#include "compiler/Support/Error.h"
#include "compiler/Support/Usage.h"
#include "runtime/base/AtomicFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace cleave;

static std::string line(const std::string &name, const std::string &value) {
  return "  " + view::padRight(name, 26) + value + "\n";
}

// Returns the rates that a reader can compare with a data sheet.
static std::string rates(const MachineModel &machine) {
  std::string text = machine.name + "\n", products;
  for (const auto &[type, rate] : machine.productRates)
    if (type != "f64")
      products += (products.empty() ? "" : ", ") + type + " " + view::rateText(rate, "FLOP/s");
  text += line("products, the fastest", products);
  text += line("other kernels, at most", "f32 " + view::rateText(machine.vectorRates.at("f32"), "FLOP/s"));
  const std::vector<TrafficPoint> &traffic = machine.measured->traffic;
  text += line("nearest cache", view::rateText(traffic.front().bytesPerSecond, "B/s"));
  text += line("memory", view::rateText(traffic.back().bytesPerSecond, "B/s"));
  text += line("launch", view::secondsText(machine.launchSeconds));
  return text + line("between two ranks", view::rateText(machine.node.bytesPerSecond, "B/s") + ", " +
                                              view::secondsText(machine.node.seconds) + " a message");
}

static llvm::Error calibrateFor(unsigned threads, const std::string &output, llvm::raw_ostream &out) {
  std::string file = output.empty() ? calibratedMachineFile(threads) : output;
  if (file.empty())
    return usageError("-o", "there is no folder for caches, as neither XDG_CACHE_HOME nor HOME is set; give -o FILE");
  if (llvm::StringRef folder = llvm::sys::path::parent_path(file); output.empty())
    if (std::error_code code = makeDirectories(folder))
      return makeError(folder + ": cannot make this folder: " + code.message() + "; give -o FILE");
  if (llvm::Error error = checkOutputPath(file))
    return error;
  auto tell = [&](const std::string &what) {
    out << "measuring " << what << "\n";
    out.flush();
  };
  MachineModel machine;
  if (rt::Status status = calibration::calibrate({threads}, tell, &machine); !status.isOk())
    return makeError("calibrate: " + status.message());
  if (rt::Status status = rt::writeFileAtomically(file, writeMachine(machine)); !status.isOk())
    return makeError(status.message());
  out << rates(machine) << "wrote " << file << "\n";
  return llvm::Error::success();
}

llvm::Error cleave::calibrate(const CalibrateRequest &request, llvm::raw_ostream &out) {
  unsigned cores = calibration::usableCores();
  if (request.threads > static_cast<int64_t>(cores))
    return usageError("--threads " + std::to_string(request.threads),
                      "this machine has " + std::to_string(cores) + (cores == 1 ? " core" : " cores") +
                          " for this process; ranks of more threads than that are not worth a prediction");
  std::vector<unsigned> threads = {request.threads == 0 ? cores : static_cast<unsigned>(request.threads)};
  if (request.threads == 0 && request.output.empty() && cores > 1)
    threads.push_back(1);
  for (unsigned one : threads)
    if (llvm::Error error = calibrateFor(one, request.output, out))
      return error;
  return llvm::Error::success();
}
