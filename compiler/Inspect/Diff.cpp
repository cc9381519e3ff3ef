#include "compiler/Inspect/Diff.h"

#include "compiler/Inspect/Human.h"
#include "compiler/Inspect/Summary.h"
#include "compiler/Inspect/Traffic.h"
#include "compiler/Simulator/Walk.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanSummary.h"
#include "runtime/plan/Properties.h"
#include "runtime/plan/RankKinds.h"

#include <cstdio>
#include <map>
#include <set>

namespace cleave::view {

using namespace rt;

namespace {

using Numbers = std::map<std::string, uint64_t>;

// The numbers of one plan that are compared, by heading.
struct Side {
  Numbers memory, state, arithmetic, traffic, times, instructions, kernels;
  std::map<std::string, std::string> options, others;
};

// A property (Properties.def) that is no option of cleave compile, in the words of the reader. `key` is the whole key,
// or the part before its dot: then the rest of the key, such as an input's name, follows the words. Without words
// nothing is said of it, because only the runtime needs it.
struct OtherProperty {
  std::string_view key;
  const char *words;
};

constexpr OtherProperty kOthers[] = {{"model", "the model's file"},
                                     {"graph", "the model (hash of its graph, without the weights)"},
                                     {"lr", "the optimizer's default of train --lr"},
                                     {"evaluate", ""},
                                     {"mixes", ""},
                                     {"predicted", "the predicted step's "},
                                     {"labels", "number of classes (and labels that do not count) of the input "},
                                     {"indices", "number of positions that can be chosen by the input "},
                                     {"rows", "number of rows that can be chosen by the input "},
                                     {"needs", "inputs that are needed for the output "},
                                     {"kernels", "how library kernels compute in "}};

// Returns null for an option of cleave compile.
const OtherProperty *findOther(std::string_view key) {
  for (const OtherProperty &other : kOthers)
    if (key.substr(0, key.find('.')) == other.key)
      return &other;
  return nullptr;
}

void addProperty(std::string_view key, std::string_view text, Side &side) {
  const OtherProperty *other = findOther(key);
  if (!other)
    side.options[std::string(key)] = text;
  else if (*other->words)
    side.others[other->words + std::string(key == other->key ? "" : key.substr(other->key.size() + 1))] = text;
}

void addProgram(const fb::Plan &kind, uint32_t entry, uint64_t ranks, Side &side) {
  std::vector<uint64_t> runs = plan::runsOf(kind, entry);
  for (uint32_t p = 0; p < runs.size(); ++p) {
    const fb::Program &program = *kind.programs()->Get(p);
    for (uint32_t i = 0; runs[p] != 0 && i < lengthOf(program.instructions()); ++i)
      if (InstructionView view(*program.instructions()->Get(i)); view.opcode() != Opcode::Call)
        side.instructions[std::string(view.info().mnemonic)] += runs[p] * ranks;
  }
  for (const Exchange &exchange : exchangesOf(kind, entry)) {
    side.traffic["over " + shortName(exchange.axes, 24)] += exchange.sent * ranks;
    side.times[exchange.mnemonic + " over " + shortName(exchange.axes, 24)] += exchange.times * ranks;
  }
}

Side sideOf(const fb::Plan &plan) {
  Side side;
  PlanSummary summary = summarize(plan);
  const PlanSummary &largest = largestKind(summary);
  side.memory = largest.bytesByKind;
  for (const auto &[kind, bytes] : largest.hostByKind)
    side.memory[kind + " in host memory"] = bytes;
  side.state = largest.bytesByRole;
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  for (size_t i = 0; i < kinds.size(); ++i) {
    const PlanSummary &kind = i == 0 ? summary : summary.others[i - 1];
    for (const ProgramSummary &program : kind.programs)
      if (program.entry)
        side.arithmetic[program.name] += program.flops * kind.ranksOfKind;
    for (const auto &[name, number] : kind.kernels)
      side.kernels[name] += number;
    if (auto entry = plan::mainProgram(*kinds[i]))
      addProgram(*kinds[i], *entry, kind.ranksOfKind, side);
  }
  forEachProperty(plan, [&](std::string_view key, std::string_view text) { addProperty(key, text, side); });
  side.options["mesh"] = meshText(plan);
  side.options["target"] = textOf(plan.target());
  side.options["threads"] = std::to_string(plan.threads());
  side.options["batch of a rank and micro-batch"] = std::to_string(plan.batch());
  side.options["micro-batches"] = std::to_string(plan.micro_batches());
  return side;
}

using Form = std::string (*)(uint64_t);

// Returns the change from A to B, also as a share of A: "+1.5 MiB (+3.2 %)".
std::string changeText(uint64_t a, uint64_t b, Form form) {
  if (a == b)
    return "same";
  std::string text = b > a ? "+" + form(b - a) : "-" + form(a - b);
  if (a == 0 || b == 0)
    return text;
  char share[32];
  std::snprintf(share, sizeof share, " (%+.1f %%)", (static_cast<double>(b) / static_cast<double>(a) - 1) * 100);
  return text + share;
}

class DiffPrinter {
public:
  std::string take() { return std::move(text_); }

  void section(const std::string &title, const Numbers &a, const Numbers &b, Form form, bool hasTotal) {
    std::set<std::string> names;
    uint64_t totalA = 0, totalB = 0;
    for (const Numbers *each : {&a, &b})
      for (const auto &[name, number] : *each)
        names.insert(name);
    if (names.empty())
      return;
    text_ += "\n" + title + "\n";
    for (const std::string &name : names) {
      uint64_t one = lookUp(a, name), other = lookUp(b, name);
      totalA += one;
      totalB += other;
      line(name, one, other, form);
    }
    if (hasTotal && names.size() > 1)
      line("total", totalA, totalB, form);
  }

  // Prints the texts that differ. `none` stands for them if there are none; without it, there is no section then.
  void texts(const std::string &title, const std::map<std::string, std::string> &a,
             const std::map<std::string, std::string> &b, const char *none) {
    std::set<std::string> keys;
    for (const auto *each : {&a, &b})
      for (const auto &[key, value] : *each)
        keys.insert(key);
    std::string lines;
    for (const std::string &key : keys)
      if (valueOf(a, key) != valueOf(b, key))
        lines += "  " + shortName(key, 80) + ": A " + valueOf(a, key) + ", B " + valueOf(b, key) + "\n";
    if (none || !lines.empty())
      text_ += "\n" + title + "\n" + (lines.empty() ? none : lines);
  }

private:
  static uint64_t lookUp(const Numbers &numbers, const std::string &name) {
    auto found = numbers.find(name);
    return found == numbers.end() ? 0 : found->second;
  }
  static std::string valueOf(const std::map<std::string, std::string> &options, const std::string &key) {
    auto found = options.find(key);
    return found == options.end() || found->second.empty() ? "-" : shortName(found->second, 60);
  }

  void line(const std::string &name, uint64_t a, uint64_t b, Form form) {
    text_ += "  " + padRight(name, 34) + padLeft(form(a), 15) + padLeft(form(b), 15) + "   " +
             changeText(a, b, form) + "\n";
  }

  std::string text_;
};

} // namespace

std::string diffText(const fb::Plan &a, const std::string &nameA, const fb::Plan &b, const std::string &nameB) {
  Side one = sideOf(a), other = sideOf(b);
  DiffPrinter printer;
  printer.section("MEMORY, of the rank that needs most", one.memory, other.memory, bytesText, true);
  printer.section("STATE, of that rank", one.state, other.state, bytesText, true);
  printer.section("ARITHMETIC of a run, all ranks together", one.arithmetic, other.arithmetic, flopsText, false);
  printer.section("SENT in a step, all ranks together", one.traffic, other.traffic, bytesText, true);
  printer.section("COLLECTIVES AND TRANSFERS of a step, all ranks together", one.times, other.times, countText, false);
  printer.section("INSTRUCTIONS of a step, all ranks together", one.instructions, other.instructions, countText, true);
  printer.section("KERNELS, of all kinds of ranks", one.kernels, other.kernels, countText, true);
  printer.texts("OPTIONS THAT DIFFER", one.options, other.options, "  none\n");
  printer.texts("WHAT ELSE DIFFERS", one.others, other.others, /*none=*/nullptr);
  return "A " + shortName(nameA, 90) + "\n" + headline(a) + "B " + shortName(nameB, 90) + "\n" + headline(b) + "\n" +
         std::string(36, ' ') + padLeft("A", 15) + padLeft("B", 15) + "   from A to B\n" + printer.take();
}

} // namespace cleave::view
