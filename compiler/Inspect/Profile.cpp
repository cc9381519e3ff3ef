#include "compiler/Inspect/Profile.h"

#include "compiler/Inspect/Human.h"
#include "compiler/Inspect/Summary.h"
#include "compiler/Support/NodeNote.h"
#include "runtime/plan/RankKinds.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

namespace cleave::view {

using namespace rt;

namespace {

class Collector {
public:
  Collector(const fb::Plan &plan, const plan::InstructionCosts *costs, Profile *profile)
      : kinds_(kindsOf(plan)), costs_(costs), profile_(*profile) {}

  void add(size_t kind, const InstructionView &view, const plan::StreamSpan &span) {
    double seconds = span.end - span.start;
    profile_.seconds = std::max(profile_.seconds, span.end);
    if (view.opcode() != Opcode::Launch) {
      profile_.otherSeconds += seconds;
      return;
    }
    profile_.kernelSeconds += seconds;
    auto kernel = static_cast<size_t>(view["kernel"]);
    std::string node = nodeOfNote(view.note());
    for (ProfileRow *row : {&kernels_[{kind, kernel}], &nodes_[node]}) {
      count(*row, kind, kernel, node, seconds);
      if (costs_)
        row->predicted += costs_->seconds(*kinds_[kind], view);
    }
    notes_[{kind, kernel}].insert(view.note());
  }

  void finish() {
    for (auto &[key, row] : kernels_) {
      row.nodes = notes_[key].size();
      profile_.kernels.push_back(std::move(row));
    }
    for (auto &[key, row] : nodes_)
      profile_.nodes.push_back(std::move(row));
    for (auto *rows : {&profile_.kernels, &profile_.nodes})
      std::stable_sort(rows->begin(), rows->end(), [](const auto &a, const auto &b) { return a.seconds > b.seconds; });
  }

private:
  void count(ProfileRow &row, size_t kind, size_t kernel, const std::string &node, double seconds) const {
    if (row.launches == 0) {
      row.kind = kind;
      row.kernel = kernel;
      row.node = node;
    }
    const fb::Kernel &of = *kinds_[kind]->kernels()->Get(static_cast<uint32_t>(kernel));
    ++row.launches;
    row.seconds += seconds;
    row.flops += static_cast<double>(of.flops());
    row.bytes += static_cast<double>(of.bytes());
  }

  std::vector<const fb::Plan *> kinds_;
  const plan::InstructionCosts *costs_;
  Profile &profile_;
  std::map<std::pair<size_t, size_t>, ProfileRow> kernels_;
  std::map<std::pair<size_t, size_t>, std::set<std::string_view>> notes_;
  std::map<std::string, ProfileRow> nodes_;
};

std::string format(const char *pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string label(std::string text) { return padRight(std::move(text), 26) + " "; }
std::string share(double part, double whole) { return format("%.1f %%", whole > 0 ? part / whole * 100 : 0); }
std::string ratio(double measured, double predicted) {
  return predicted > 0 ? format("%.2f", measured / predicted) : "-";
}

// Kernels of the optimizer compute no node.
std::string nodeText(const std::string &node, size_t width) {
  return node.empty() ? "(no node: the update)" : shortName(node, width);
}

std::string kernelTable(const fb::Plan &plan, const Profile &profile, const MachineCosts *machine) {
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  std::string text = "THE MOST EXPENSIVE KERNELS, of " + countText(profile.kernels.size()) +
                     "; share: of the time in kernels\n" + padLeft("measured", 10) + padLeft("share", 9) +
                     padLeft("launches", 10) + padLeft("arithmetic", 16) + padLeft("traffic", 13);
  if (machine)
    text += padLeft("of peak", 17) + padLeft("of memory", 11) + padLeft("predicted", 11) + padLeft("meas/pred", 11);
  text += "  kernel, node\n";
  for (size_t i = 0; i < std::min(kMostExpensive, profile.kernels.size()); ++i) {
    const ProfileRow &row = profile.kernels[i];
    double flops = row.seconds > 0 ? row.flops / row.seconds : 0, bytes = row.seconds > 0 ? row.bytes / row.seconds : 0;
    text += padLeft(secondsText(row.seconds), 10) + padLeft(share(row.seconds, profile.kernelSeconds), 9) +
            padLeft(countText(row.launches), 10) + padLeft(rateText(flops, "FLOP/s"), 16) +
            padLeft(rateText(bytes, "B/s"), 13);
    if (machine) {
      const plan::KernelCost &cost = machine->costs.kernel(*kinds[row.kind], row.kernel);
      text += padLeft(share(flops, cost.peak) + " of " + cost.type, 17) +
              padLeft(share(bytes, machine->machine.memoryRate), 11) + padLeft(secondsText(row.predicted), 11) +
              padLeft(ratio(row.seconds, row.predicted), 11);
    }
    text += "  " + (kinds.size() > 1 ? std::string(textOf(kinds[row.kind]->kind())) + " " : "") +
            shortName(textOf(kinds[row.kind]->kernels()->Get(static_cast<uint32_t>(row.kernel))->name()), 28) + ", " +
            nodeText(row.node, 48) + (row.nodes > 1 ? " and " + countText(row.nodes - 1) + " more" : "") + "\n";
  }
  return text;
}

std::string nodeTable(const Profile &profile, const MachineCosts *machine) {
  std::string text = "THE MOST EXPENSIVE NODES OF THE MODEL, of " + countText(profile.nodes.size()) +
                     ", with their gradients; a kernel of several nodes counts for the one that it is named after\n" +
                     padLeft("measured", 10) + padLeft("share", 9) + padLeft("launches", 10);
  if (machine)
    text += padLeft("predicted", 11) + padLeft("meas/pred", 11);
  text += "  node\n";
  for (size_t i = 0; i < std::min(kMostExpensive, profile.nodes.size()); ++i) {
    const ProfileRow &row = profile.nodes[i];
    text += padLeft(secondsText(row.seconds), 10) + padLeft(share(row.seconds, profile.kernelSeconds), 9) +
            padLeft(countText(row.launches), 10);
    if (machine)
      text += padLeft(secondsText(row.predicted), 11) + padLeft(ratio(row.seconds, row.predicted), 11);
    text += "  " + nodeText(row.node, 70) + "\n";
  }
  return text;
}

// The time that no span covers, from 0 to the step's end. Spans of different streams may overlap.
double uncovered(std::vector<plan::StreamSpan> spans, double end) {
  std::sort(spans.begin(), spans.end(), [](const auto &a, const auto &b) { return a.start < b.start; });
  double free = 0, covered = 0; // covered: all before it is counted
  for (const plan::StreamSpan &span : spans) {
    free += std::max(span.start - covered, 0.0);
    covered = std::max(covered, span.end);
  }
  return free + std::max(end - covered, 0.0);
}

} // namespace

Profile profileOf(const fb::Plan &plan, const Measured &measured, const plan::InstructionCosts *costs) {
  Profile profile;
  Collector collector(plan, costs, &profile);
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  for (size_t k = 0; k < kinds.size(); ++k)
    for (const plan::StreamSpan &span : measured.timeline.kinds[k].spans)
      collector.add(k, InstructionView(*kinds[k]->programs()->Get(span.program)->instructions()->Get(span.instruction)),
                    span);
  collector.finish();
  for (size_t k = 0; k < kinds.size(); ++k)
    profile.restSeconds += uncovered(measured.timeline.kinds[k].spans, profile.seconds);
  return profile;
}

std::string profileText(const fb::Plan &plan, const Measured &measured, const Profile &profile,
                        const MachineCosts *machine) {
  std::string text = headline(plan) + "\nMEASURED " + measured.source + ", one rank" +
                     (kindsOf(plan).size() > 1 ? " of each kind" : "") + "\n";
  text += label("measured step time") + secondsText(profile.seconds) + "\n";
  if (machine)
    text += label("predicted step time") + secondsText(machine->seconds) + " on " + machine->machine.name +
            "; measured is " + ratio(profile.seconds, machine->seconds) + " times that\n";
  text += label("measured in kernels") + secondsText(profile.kernelSeconds) +
          "; in copies, collectives and messages, with their waiting, " + secondsText(profile.otherSeconds) +
          "; while no instruction ran " + secondsText(profile.restSeconds) + "\n";
  if (!machine)
    text += "with --target-machine FILE: shares of the machine's peak and memory rate, and the cost model's times\n";
  return text + "\n" + kernelTable(plan, profile, machine) + "\n" + nodeTable(profile, machine);
}

} // namespace cleave::view
