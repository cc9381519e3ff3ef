#include "compiler/Calibration/Calibrate.h"

#include "compiler/Calibration/Probes.h"

#include <algorithm>
#include <ctime>

namespace cleave::calibration {

using rt::Status;

static std::string today() {
  std::time_t now = std::time(nullptr);
  char text[40] = "";
  std::tm parts{};
  if (gmtime_r(&now, &parts))
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

// The best rate of the products of a type.
static double best(const Measurements &measured, const std::string &type) {
  double rate = 0;
  for (const RateTable &table : measured.kernels)
    if (table.kernel == "matmul" && table.type == type)
      rate = std::max(rate, *std::max_element(table.rates.begin(), table.rates.end()));
  return rate;
}

Status calibrate(const Request &request, const std::function<void(const std::string &)> &tell, MachineModel *machine) {
  unsigned cores = usableCores(), threads = request.threads;
  MachineModel result;
  Measurements measured;
  measured.threads = threads;
  result.name = processorName() + ", " + std::to_string(cores) + (cores == 1 ? " core, " : " cores, ") +
                std::to_string(threads) + (threads == 1 ? " thread a rank" : " threads a rank");
  result.source = "cleave calibrate, " + today();

  tell("traffic, from the nearest cache to memory");
  measured.traffic = measureTraffic(threads);
  std::vector<std::string> types = {"f32"};
  for (const char *type : {"bf16", "f16"})
    if (computesNatively(type))
      types.push_back(type);
  for (const std::string &type : types) {
    tell("products of " + type);
    CLEAVE_TRY(measureProducts(type, threads, &measured.kernels));
    if (type != "f16") {
      tell("convolutions of " + type);
      CLEAVE_TRY(measureConvolutions(type, threads, &measured.kernels));
    }
    result.productRates[type] = best(measured, type);
  }
  result.vectorRates = {{"f32", measureVectorRate(threads, false)}, {"f64", measureVectorRate(threads, true)}};
  // Products of f64 are plain loops of Cleave, without blocks (ReferenceMatmul.cpp).
  result.productRates["f64"] = result.vectorRates["f64"] / 4;
  // Generated kernels do not keep the units as busy as a polynomial in registers. The kernels of six models that are
  // bound by arithmetic reach about a third (Zen 4).
  result.vectorEfficiency = 0.35;
  CLEAVE_TRY(measurePools("f32", threads, &measured.kernels));
  double attention = 0;
  CLEAVE_TRY(measureAttention("f32", threads, &attention));
  result.attentionEfficiency = std::clamp(attention / result.productRates["f32"], 0.01, 1.0);
  result.memoryRate = measured.traffic.back().bytesPerSecond;
  result.launchSeconds = measureLaunch(threads);
  tell("messages between two ranks of a process");
  CLEAVE_TRY(measureLink(&result.node));
  result.nodeRanks = 1000000; // a process may have any number of ranks; links between machines were not measured
  result.hostCopy = Link{result.memoryRate / 2, result.launchSeconds};
  result.targets = {"host"};
  result.measured = std::move(measured);
  *machine = std::move(result);
  return Status::ok();
}

} // namespace cleave::calibration
