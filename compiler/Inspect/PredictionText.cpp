// The output of `inspect --target-machine`, as text and as JSON.
#include "compiler/Inspect/Human.h"
#include "compiler/Inspect/Prediction.h"
#include "compiler/Inspect/Summary.h"
#include "runtime/plan/PlanSummary.h"
#include "runtime/plan/RankKinds.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace cleave::view {

using namespace rt;
using nlohmann::json;

namespace {

constexpr size_t kMostExpensive = 20; // kernels in the table

std::string format(const char *pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string share(double part, double whole) { return format("%.1f %%", whole > 0 ? part / whole * 100 : 0); }

std::string label(std::string text) { return padRight(std::move(text), 26) + " "; }

std::string linkText(const MachineModel &machine, const Link &link) {
  return rateText(link.bytesPerSecond, "B/s") + " x " + format("%.2f", machine.linkEfficiency) + ", " +
         secondsText(link.seconds) + " a message";
}

std::string ratesText(const std::map<std::string, double> &rates) {
  std::vector<std::string> parts;
  for (const auto &[type, rate] : rates)
    parts.push_back(type + " " + rateText(rate, "FLOP/s"));
  return join(parts, ", ");
}

// Lists the machine's figures that the plan uses, and what the model leaves out.
std::string assumptions(const fb::Plan &plan, const MachineModel &machine) {
  std::string text = "ASSUMPTIONS, peak x share of it that is reached\n";
  auto line = [&](const std::string &name, const std::string &value) {
    std::vector<std::string> lines = wrapped(value, 110);
    for (size_t i = 0; i < lines.size(); ++i)
      text += label(i == 0 ? "  " + name : "") + lines[i] + "\n";
  };
  line("source", machine.source);
  line("matrix products", "(" + ratesText(machine.productRates) + ") x " + format("%.2f", machine.productEfficiency) +
                              "; attention x " + format("%.2f", machine.attentionEfficiency));
  line("other kernels", "(" + ratesText(machine.vectorRates) + ") x " + format("%.2f", machine.vectorEfficiency));
  line("memory", rateText(machine.memoryRate, "B/s") + " x " + format("%.2f", machine.memoryEfficiency));
  line("launch", secondsText(machine.launchSeconds) + " for each kernel");
  for (uint32_t axis = 0; axis < lengthOf(plan.axes()); ++axis) {
    const fb::Axis &one = *plan.axes()->Get(axis);
    bool isBetween = plan::isBetweenNodes(plan, machine, axis);
    line("axis " + one.name()->str() + "=" + std::to_string(one.size()),
         (isBetween ? "between nodes: " + linkText(machine, machine.network.value_or(Link()))
                    : "within a node: " + linkText(machine, machine.node)));
  }
  if (lengthOf(plan.axes()) != 0)
    line("collectives", "rings of N ranks: all-reduce 2 (N - 1) steps of 1/N of the bytes, reduce-scatter and "
                        "all-gather N - 1; ranks lie on nodes "
                        "of " +
                            countText(machine.nodeRanks) + " in their order; each rank has a link of its own");
  if (machine.hostCopy)
    line("copies to the host", linkText(machine, *machine.hostCopy));
  line("left out", "the host's work and reading the batch; partly filled waves of small kernels; kernels of several "
                   "streams share nothing");
  return text;
}

std::string kernelTable(const std::vector<const fb::Plan *> &kinds, const Prediction &prediction,
                        const plan::InstructionCosts &costs) {
  double all = 0;
  for (const PredictedKernel &row : prediction.kernels)
    all += row.seconds;
  std::string text = "THE MOST EXPENSIVE KERNELS, of " + countText(prediction.kernels.size()) + "; of one rank" +
                     (kinds.size() > 1 ? " of each kind" : "") + "\n" + padRight("", 11) + padLeft("time", 10) +
                     padLeft("share", 9) + padLeft("launches", 10) + padLeft("each", 10) + "  " + padRight("bound", 9) +
                     padRight("of peak", 18) + "kernel, node\n";
  for (size_t i = 0; i < std::min(kMostExpensive, prediction.kernels.size()); ++i) {
    const PredictedKernel &row = prediction.kernels[i];
    const fb::Kernel &kernel = *kinds[row.kind]->kernels()->Get(static_cast<uint32_t>(row.kernel));
    const plan::KernelCost &cost = costs.kernel(*kinds[row.kind], row.kernel);
    double each = row.seconds / static_cast<double>(row.launches);
    std::string peak =
        cost.peak > 0 ? share(static_cast<double>(kernel.flops()) / each, cost.peak) + " of " + cost.type : "";
    text += padRight("predicted", 11) + padLeft(secondsText(row.seconds), 10) + padLeft(share(row.seconds, all), 9) +
            padLeft(countText(row.launches), 10) + padLeft(secondsText(each), 10) + "  " +
            padRight(boundText(cost.bound), 9) + padRight(peak, 18) +
            (kinds.size() > 1 ? std::string(textOf(kinds[row.kind]->kind())) + " " : "") +
            shortName(textOf(kernel.name()), 28) + ", " + shortName(row.node, 48) +
            (row.nodes > 1 ? " and " + countText(row.nodes - 1) + " more" : "") + "\n";
  }
  return text;
}

std::string rankLines(const std::vector<const fb::Plan *> &kinds, const Prediction &prediction) {
  std::string text;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const PredictedKind &kind = prediction.kinds[i];
    std::string name(textOf(kinds[i]->kind()));
    text += label("predicted rank" + (name.empty() ? "" : " of " + name)) + secondsText(kind.seconds) +
            "; communicates " + secondsText(kind.communication) + ", " + secondsText(kind.exposed) +
            " of it exposed (" + share(kind.exposed, prediction.seconds) + " of the step)\n";
    for (const PredictedStream &stream : kind.streams)
      if (stream.compute + stream.communication > 0)
        text += label("predicted stream " + stream.name) + "compute " + share(stream.compute, prediction.seconds) +
                ", communication " + share(stream.communication, prediction.seconds) + ", idle " +
                share(prediction.seconds - stream.compute - stream.communication, prediction.seconds) + "\n";
  }
  return text;
}

json kindJson(const fb::Plan &kind, const PredictedKind &predicted) {
  json streams = json::array();
  for (const PredictedStream &stream : predicted.streams)
    streams.push_back(
        {{"name", stream.name}, {"compute_seconds", stream.compute}, {"communication_seconds", stream.communication}});
  return {{"name", std::string(textOf(kind.kind()))},
          {"seconds", predicted.seconds},
          {"communication_seconds", predicted.communication},
          {"exposed_communication_seconds", predicted.exposed},
          {"streams", std::move(streams)}};
}

json kernelJson(const fb::Plan &kind, const PredictedKernel &row, const plan::InstructionCosts &costs) {
  const fb::Kernel &kernel = *kind.kernels()->Get(static_cast<uint32_t>(row.kernel));
  const plan::KernelCost &cost = costs.kernel(kind, row.kernel);
  return {{"kind", std::string(textOf(kind.kind()))},
          {"kernel", kernel.name()->str()},
          {"node", row.node},
          {"nodes", row.nodes},
          {"launches", row.launches},
          {"seconds", row.seconds},
          {"flops", kernel.flops()},
          {"bytes", kernel.bytes()},
          {"type", cost.type},
          {"bound", boundText(cost.bound)}};
}

} // namespace

const char *boundText(plan::Bound bound) {
  switch (bound) {
  case plan::Bound::Compute:
    return "compute";
  case plan::Bound::Memory:
    return "memory";
  case plan::Bound::Launch:
    return "launch";
  }
  return "";
}

std::string machineText(const MachineModel *machine) {
  if (machine)
    return machine->name;
  const MachineModel &plain = plainMachine();
  return "an assumed machine (" + rateText(plain.productRates.at("f32"), "FLOP/s") + ", memory " +
         rateText(plain.memoryRate, "B/s") + ", links " + rateText(plain.node.bytesPerSecond, "B/s") + ")";
}

std::string predictionText(const fb::Plan &plan, const MachineModel &machine, const plan::InstructionCosts &costs,
                           const Prediction &prediction) {
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  std::string text =
      headline(plan) + "\nPREDICTED " + prediction.entry + " on " + machine.name + ", by a cost model; nothing ran\n";
  bool isTraining = prediction.entry == "train_step";
  text += label(isTraining ? "predicted step time" : "predicted time") + secondsText(prediction.seconds) + "\n";
  auto perSecond = [&](uint64_t count) {
    return countText(static_cast<uint64_t>(static_cast<double>(count) / prediction.seconds + 0.5));
  };
  if (prediction.samples != 0 && prediction.seconds > 0)
    text += label("predicted rate") + perSecond(prediction.samples) + " samples/s" +
            (prediction.tokens ? ", " + perSecond(prediction.tokens) + " tokens/s" : "") + ", all ranks together\n";
  text += rankLines(kinds, prediction) + "\n";
  return text + kernelTable(kinds, prediction, costs) + "\n" + assumptions(plan, machine);
}

std::string predictionJson(const fb::Plan &plan, const MachineModel &machine, const plan::InstructionCosts &costs,
                           const Prediction &prediction) {
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  json described = json::parse(writeMachine(machine));
  described.erase("measured"); // tables of a thousand rates
  json predicted = {{"machine", std::move(described)}, {"program", prediction.entry}, {"seconds", prediction.seconds},
                    {"samples", prediction.samples},   {"tokens", prediction.tokens}, {"ranks", json::array()},
                    {"kernels", json::array()},        {"axes", json::object()}};
  for (size_t i = 0; i < kinds.size(); ++i)
    predicted["ranks"].push_back(kindJson(*kinds[i], prediction.kinds[i]));
  for (const PredictedKernel &row : prediction.kernels)
    predicted["kernels"].push_back(kernelJson(*kinds[row.kind], row, costs));
  for (uint32_t axis = 0; axis < lengthOf(plan.axes()); ++axis)
    predicted["axes"][plan.axes()->Get(axis)->name()->str()] =
        plan::isBetweenNodes(plan, machine, axis) ? "between nodes" : "within a node";
  json result = json::parse(summaryJson(plan, summarize(plan)));
  result["predicted"] = std::move(predicted);
  return result.dump(2, ' ', true, json::error_handler_t::replace);
}

} // namespace cleave::view
