#include "compiler/Inspect/Profile.h"

#include "compiler/Inspect/Human.h"
#include "compiler/Inspect/Summary.h"
#include "compiler/Simulator/Walk.h"
#include "runtime/plan/RankKinds.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

namespace cleave::view {

using namespace rt;

namespace {

// Returns the name as a trace's file has it: without control characters (runtime/base/Trace.cpp).
std::string tracedName(const fb::Plan &kind, const InstructionView &view) {
  std::string_view name = view.info().mnemonic;
  if (view.opcode() == Opcode::Launch)
    name = view.note().empty() ? kind.kernels()->Get(static_cast<uint32_t>(view["kernel"]))->name()->string_view()
                               : view.note();
  std::string text;
  for (char c : name)
    if (static_cast<unsigned char>(c) >= 0x20)
      text += c;
  return text;
}

struct Ran {
  uint32_t program, instruction;
};

// Collects the instructions of a run that have spans, by stream. Returns false if they are too many to follow.
bool instructionsOf(const fb::Plan &kind, uint32_t entry, std::vector<std::vector<Ran>> *streams) {
  streams->assign(lengthOf(kind.streams()), {});
  return plan::walk(kind, entry, [&](const plan::WalkedInstruction &step, const InstructionView &view) {
    bool isSpan = view.opcode() != Opcode::Record && view.opcode() != Opcode::Wait && view.opcode() != Opcode::Call;
    if (isSpan)
      (*streams)[view.stream()].push_back({step.program, step.index});
  });
}

std::vector<std::vector<const plan::StreamSpan *>> spansByStream(const plan::KindTimeline &timeline, size_t streams) {
  std::vector<std::vector<const plan::StreamSpan *>> list(streams);
  for (const plan::StreamSpan &span : timeline.spans)
    if (span.stream < streams)
      list[span.stream].push_back(&span);
  for (auto &spans : list)
    std::stable_sort(spans.begin(), spans.end(), [](const auto *a, const auto *b) { return a->start < b->start; });
  return list;
}

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
    std::string node = nodeOf(view.note());
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

std::string kernelTable(const fb::Plan &plan, const Profile &profile, const MachineCosts *machine) {
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  std::string text = "THE MOST EXPENSIVE KERNELS, of " + countText(profile.kernels.size()) + "\n" +
                     padLeft("measured", 10) + padLeft("share", 9) + padLeft("launches", 10) +
                     padLeft("arithmetic", 16) + padLeft("traffic", 13);
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
            shortName(row.node, 48) + (row.nodes > 1 ? " and " + countText(row.nodes - 1) + " more" : "") + "\n";
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
    text += "  " + (row.node.empty() ? "(no node: the update)" : shortName(row.node, 70)) + "\n";
  }
  return text;
}

} // namespace

Status profileOf(const fb::Plan &plan, const Measured &measured, const plan::InstructionCosts *costs,
                 Profile *profile) {
  Collector collector(plan, costs, profile);
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  for (size_t k = 0; k < kinds.size(); ++k) {
    const fb::Plan &kind = *kinds[k];
    auto entry = plan::programNamed(kind, "train_step");
    std::vector<std::vector<Ran>> streams;
    if (!entry)
      return invalidArgument("the plan has no train_step; --profile is for programs compiled with --train");
    if (!instructionsOf(kind, *entry, &streams))
      return invalidArgument("a step has more than " + countText(plan::kMostInstructions) +
                             " instructions, too many to follow");
    auto spans = spansByStream(measured.timeline.kinds[k], streams.size());
    for (size_t stream = 0; stream < streams.size(); ++stream) {
      std::string on = " on stream " + kind.streams()->Get(static_cast<uint32_t>(stream))->str();
      for (size_t i = 0; i < std::min(spans[stream].size(), streams[stream].size()); ++i) {
        Ran ran = streams[stream][i];
        InstructionView view(*kind.programs()->Get(ran.program)->instructions()->Get(ran.instruction));
        std::string found = spans[stream][i]->name.substr(0, spans[stream][i]->name.find('\n')),
                    expected = tracedName(kind, view);
        if (found != expected)
          return invalidArgument("the trace is not of this program: number " + countText(i + 1) + on + " is '" +
                                 shortName(found, 60) + "', and the plan has '" + shortName(expected, 60) +
                                 "'; take the program that wrote the trace");
        collector.add(k, view, *spans[stream][i]);
      }
      if (spans[stream].size() != streams[stream].size())
        return invalidArgument("the step has " + countText(spans[stream].size()) + " spans" + on + ", and the plan " +
                               countText(streams[stream].size()) +
                               " instructions; take the program that wrote the trace, and trace so few steps "
                               "that no event is dropped");
    }
  }
  collector.finish();
  return Status::ok();
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
          "; in copies, collectives and messages, with their waiting, " + secondsText(profile.otherSeconds) + "\n";
  if (!machine)
    text += "with --target-machine FILE: shares of the machine's peak and memory rate, and the cost model's times\n";
  return text + "\n" + kernelTable(plan, profile, machine) + "\n" + nodeTable(profile, machine);
}

} // namespace cleave::view
