// The key `measured` of a machine's file: the rates that `cleave calibrate` adds to those of a data sheet.
#include "compiler/CostModel/MachineReader.h"

#include "runtime/plan/KernelWork.h"

#include <algorithm>

namespace cleave::machine {

using nlohmann::json;
using rt::Status;

namespace {

constexpr Range kBytes{1, 1e15, "bytes"}, kSize{1e-3, 1e15, ""}, kThreads{1, 1e6, ""};
constexpr size_t kMostRates = 1 << 16;

bool ascends(const std::vector<double> &values) {
  return std::adjacent_find(values.begin(), values.end(), [](double a, double b) { return a >= b; }) == values.end();
}

Status readTraffic(const Reader &measured, std::vector<TrafficPoint> *points) {
  std::vector<Reader> list;
  CLEAVE_TRY(measured.objects("traffic", &list));
  for (const Reader &one : list) {
    TrafficPoint &point = points->emplace_back();
    CLEAVE_TRY(one.checkKeys({"bytes", "bytes_per_second"}, {}));
    CLEAVE_TRY(one.number("bytes", kBytes, &point.bytes));
    CLEAVE_TRY(one.number("bytes_per_second", kBandwidth, &point.bytesPerSecond));
    if (points->size() > 1 && point.bytes <= points->end()[-2].bytes)
      return rt::invalidArgument("measured.traffic: expected ascending bytes; got: " + shown(json(point.bytes)) +
                                 " after " + shown(json(points->end()[-2].bytes)));
  }
  return Status::ok();
}

Status readTable(const Reader &object, RateTable *table) {
  CLEAVE_TRY(object.checkKeys({"kernel", "type", "variant", "axes", "flops_per_second"}, {}));
  CLEAVE_TRY(object.text("kernel", &table->kernel));
  CLEAVE_TRY(object.text("type", &table->type));
  CLEAVE_TRY(object.text("variant", &table->variant));
  std::vector<Reader> axes;
  CLEAVE_TRY(object.objects("axes", &axes));
  constexpr size_t kMostAxes = 6;
  std::string where = "measured.kernels: " + table->kernel + " " + table->type + " " + table->variant + ": ";
  if (axes.size() > kMostAxes)
    return rt::invalidArgument(where + "expected at most 6 axes; got: " + std::to_string(axes.size()));
  size_t count = 1;
  for (const Reader &one : axes) {
    RateTable::Axis &axis = table->axes.emplace_back();
    CLEAVE_TRY(one.checkKeys({"name", "values"}, {}));
    CLEAVE_TRY(one.text("name", &axis.name));
    CLEAVE_TRY(one.numbers("values", kSize, &axis.values));
    if (!ascends(axis.values))
      return rt::invalidArgument(where + "expected ascending values of axis " + axis.name);
    count = std::min(count * axis.values.size(), kMostRates + 1);
  }
  CLEAVE_TRY(object.numbers("flops_per_second", kRate, &table->rates));
  if (table->rates.size() != count)
    return rt::invalidArgument(where + "expected " + std::to_string(count) +
                               " rates, one for each place of the axes; got: " + std::to_string(table->rates.size()));
  return Status::ok();
}

// Each kernel, with the kernel whose measured rates it uses. A kernel is rated if it uses its own.
struct RatedKernel {
  std::string_view kernel, rates;
  rt::KernelWork work;
  bool isRated() const { return kernel == rates; }
};
constexpr RatedKernel kKernels[] = {
#define CLEAVE_KERNEL(Kind, name, work, rates, buffers, params) {#name, #rates, rt::KernelWork::work},
#include "runtime/plan/Kernels.def"
};

// The axes of a kernel's table, by name. Empty if the cost model uses no table of this kernel.
std::vector<std::string> axesOf(const std::string &kernel) {
  for (const RatedKernel &one : kKernels)
    if (one.isRated() && one.kernel == kernel)
      switch (one.work) {
      case rt::KernelWork::Product:
        return {"batch", "m", "n", "k"};
      case rt::KernelWork::Convolution:
        return {"in", "out", "pixels", "window"};
      case rt::KernelWork::Window:
        return {"pixels", "window"};
      case rt::KernelWork::Vector:
      case rt::KernelWork::Attention:
        break;
      }
  return {};
}

// "matmul, convolution, ..."
std::string ratedKernels() {
  std::string names;
  for (const RatedKernel &one : kKernels)
    if (one.isRated())
      names += (names.empty() ? "" : ", ") + std::string(one.kernel);
  return names;
}

Status checkAxes(const RateTable &table) {
  std::vector<std::string> expected = axesOf(table.kernel), found;
  for (const RateTable::Axis &axis : table.axes)
    found.push_back(axis.name);
  if (found == expected)
    return Status::ok();
  if (expected.empty())
    return rt::invalidArgument("measured.kernels: there is no kernel " + shown(json(table.kernel)) +
                               " of which rates are read; kernels are " + ratedKernels());
  return rt::invalidArgument("measured.kernels: " + table.kernel + " " + table.variant + ": expected the axes " +
                             json(expected).dump() + "; got: " + shown(json(found)));
}

} // namespace

Status readMeasurements(const Reader &object, Measurements *result) {
  CLEAVE_TRY(object.checkKeys({"threads", "traffic", "kernels"}, {}));
  CLEAVE_TRY(object.whole("threads", kThreads, &result->threads));
  CLEAVE_TRY(readTraffic(object, &result->traffic));
  std::vector<Reader> kernels;
  CLEAVE_TRY(object.objects("kernels", &kernels));
  for (const Reader &one : kernels) {
    CLEAVE_TRY(readTable(one, &result->kernels.emplace_back()));
    CLEAVE_TRY(checkAxes(result->kernels.back()));
  }
  return Status::ok();
}

json measurementsJson(const Measurements &measured) {
  json result = {{"threads", measured.threads}, {"traffic", json::array()}, {"kernels", json::array()}};
  for (const TrafficPoint &point : measured.traffic)
    result["traffic"].push_back({{"bytes", point.bytes}, {"bytes_per_second", point.bytesPerSecond}});
  for (const RateTable &table : measured.kernels) {
    json axes = json::array();
    for (const RateTable::Axis &axis : table.axes)
      axes.push_back({{"name", axis.name}, {"values", axis.values}});
    result["kernels"].push_back({{"kernel", table.kernel},
                                 {"type", table.type},
                                 {"variant", table.variant},
                                 {"axes", std::move(axes)},
                                 {"flops_per_second", table.rates}});
  }
  return result;
}

} // namespace cleave::machine
