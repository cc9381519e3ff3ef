#include "compiler/Inspect/Summary.h"

#include "compiler/Inspect/Human.h"
#include "compiler/Inspect/Traffic.h"
#include "compiler/Simulator/Walk.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanSummary.h"
#include "runtime/plan/Properties.h"
#include "runtime/plan/RankKinds.h"

#include <algorithm>
#include <functional>
#include <set>

namespace cleave::view {

using namespace rt;

const char *meaningOf(fb::RegionKind kind) {
  switch (kind) {
  case fb::RegionKind::persistent:
    return "state: it stays from step to step";
  case fb::RegionKind::input:
    return "the batch, which the host writes";
  case fb::RegionKind::output:
    return "results, which the host reads";
  case fb::RegionKind::residual:
    return "forward values that the backward pass reads";
  case fb::RegionKind::transient:
    return "values of one pass; their places are reused";
  case fb::RegionKind::communication:
    return "data received from other ranks and not yet added";
  case fb::RegionKind::workspace:
    return "scratch of matrix products and convolutions";
  case fb::RegionKind::snapshot:
    return "the copy of the state that a checkpoint is written from";
  }
  return "";
}

static std::string batchText(const fb::Plan &plan) {
  uint64_t microBatches = plan.micro_batches(), dataRanks = axesSize(plan, plan.data_axes());
  if (plan.batch() == 0)
    return microBatches > 1 ? "no batch dimension; " + countText(microBatches) + " runs in a step"
                            : "no batch dimension";
  std::string text = "batch of one rank: " + countOf(plan.batch(), "sample");
  if (microBatches > 1)
    text += " x " + countText(microBatches) + " micro-batches";
  if (microBatches > 1 || dataRanks > 1)
    text += "; " + countText(plan.batch() * microBatches * dataRanks) + " on " + countOf(dataRanks, "data rank") +
            " together";
  return text;
}

std::string headline(const fb::Plan &plan) {
  std::string model = propertyOf(plan, kModelProperty), optimizer = propertyOf(plan, kOptimizerProperty);
  bool isTraining = plan::programNamed(plan, "train_step").has_value();
  PlanSummary summary = summarize(plan);
  std::string text = model.empty() ? "a plan" : shortName(model, 40);
  text += isTraining ? ", training" + (optimizer.empty() ? "" : " by " + optimizer.substr(0, optimizer.find(',')))
                     : ", inference";
  text += " on " + countOf(summary.ranks, "rank") + (summary.ranks > 1 ? " (" + meshText(plan) + ")" : "");
  text += ", target " + shortName(textOf(plan.target()), 20) + "\n";
  return text + countOf(summary.parameters, "parameter") + "; " + batchText(plan) + "\n";
}

namespace {

// Lines of a label, a number for each kind that is shown, and a note.
class Table {
public:
  explicit Table(size_t columns) : columns_(columns) {}

  void line(const std::string &label, const std::vector<std::string> &values, const std::string &note = "") {
    std::string text = padRight(label, kLabel);
    for (size_t i = 0; i < columns_; ++i)
      text += padLeft(i < values.size() ? values[i] : "", kValue);
    std::vector<std::string> notes = wrapped(note, std::max<size_t>(kWidth - kLabel - columns_ * kValue - 2, 28));
    text += "  " + notes[0];
    text_ += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
    for (size_t i = 1; i < notes.size(); ++i)
      text_ += std::string(kLabel + columns_ * kValue + 4, ' ') + notes[i] + "\n";
  }
  std::string take() { return std::move(text_); }

private:
  static constexpr size_t kWidth = 100, kLabel = 18, kValue = 13;
  size_t columns_;
  std::string text_;
};

struct Column {
  const fb::Plan *kind;
  const PlanSummary *summary;
  std::map<std::string, AxisTraffic> traffic;
};

class SummaryPrinter {
public:
  explicit SummaryPrinter(const fb::Plan &plan) : plan_(plan), summary_(summarize(plan)), table_(1) {
    std::vector<const fb::Plan *> kinds = kindsOf(plan);
    for (size_t i = 0; i < kinds.size(); ++i)
      columns_.push_back({kinds[i], i == 0 ? &summary_ : &summary_.others[i - 1], {}});
    if (columns_.size() > kMostColumns) {
      auto byBytes = [](const Column &a, const Column &b) { return a.summary->totalBytes < b.summary->totalBytes; };
      auto ends = std::minmax_element(columns_.begin(), columns_.end(), byBytes);
      columns_ = {*ends.second, *ends.first};
    }
    for (Column &column : columns_)
      if (auto entry = plan::mainProgram(*column.kind))
        column.traffic = trafficByAxes(exchangesOf(*column.kind, *entry));
    table_ = Table(columns_.size());
  }

  std::string print() {
    std::string text = headline(plan_);
    size_t kinds = 1 + summary_.others.size();
    if (kinds > columns_.size())
      text += countText(kinds) +
              " kinds of ranks; those that need the most and the least memory are shown (all: --details)\n";
    memory();
    if (auto entry = plan::mainProgram(plan_))
      step(*entry);
    for (const ProgramSummary &program : summary_.programs)
      if (auto entry = plan::mainProgram(plan_);
          program.entry && textOf(plan_.programs()->Get(*entry)->name()) != program.name)
        other(program.name);
    return text + "\n" + table_.take() + "\n" + ports() + legend() +
           "more: --parameters, --timeline, --html FILE; exact bytes: --details, --json; instructions: --text\n";
  }

private:
  static constexpr size_t kMostColumns = 4;
  using Number = std::function<uint64_t(const Column &)>;

  // Adds a line, unless all numbers are 0. Returns true if it does.
  bool bytesLine(const std::string &label, const Number &bytes, const std::string &note) {
    std::vector<std::string> values;
    bool any = false;
    for (const Column &column : columns_) {
      uint64_t number = bytes(column);
      any |= number != 0;
      values.push_back(number == 0 ? "-" : bytesText(number));
    }
    if (any)
      table_.line(label, values, note);
    return any;
  }

  void memory() {
    std::vector<std::string> names;
    for (const Column &column : columns_)
      names.push_back(column.summary->kind.empty() ? "" : shortName(column.summary->kind, 16));
    table_.line("MEMORY OF A RANK", names);
    for (fb::RegionKind kind : fb::EnumValuesRegionKind()) {
      std::string name = fb::EnumNameRegionKind(kind);
      bool any = bytesLine(
          "  " + name, [&](const Column &c) { return lookUp(c.summary->bytesByKind, name); }, noteOf(kind));
      if (any && kind == fb::RegionKind::persistent)
        states();
    }
    bytesLine(
        "  total", [](const Column &c) { return c.summary->totalBytes; }, "allocated once, before the first step");
    bytesLine(
        "  in host memory", [](const Column &c) { return c.summary->hostBytes; },
        "offloaded, read by the host, or batches for a GPU: not in the total");
    bytesLine(
        "  besides", [](const Column &c) { return c.summary->outside.ofProcess(1); },
        "at most, the process's own code and libraries");
    std::string ranks = summary_.ranks > 1 ? ", with all " + countText(summary_.ranks) + " ranks as threads" : "";
    if (uint64_t bytes = mostOfOneProcess())
      table_.line("  in one process", {}, "at most " + bytesText(bytes) + ranks);
  }

  // Which the end of a run prints, too (Session::memoryReport); 0 where it is not known.
  uint64_t mostOfOneProcess() const {
    uint64_t bytes = summary_.outside.base;
    auto add = [&](const PlanSummary &kind) {
      bytes += (kind.totalBytes + kind.hostBytes) * kind.ranksOfKind;
      bytes += kind.outside.ofProcess(kind.ranksOfKind) - kind.outside.base;
    };
    add(summary_);
    for (const PlanSummary &kind : summary_.others)
      add(kind);
    return summary_.outside.base == 0 ? 0 : bytes;
  }

  static uint64_t lookUp(const std::map<std::string, uint64_t> &map, const std::string &key) {
    auto found = map.find(key);
    return found == map.end() ? 0 : found->second;
  }

  std::string noteOf(fb::RegionKind kind) const {
    std::string note = meaningOf(kind);
    if (kind == fb::RegionKind::residual)
      note += frames();
    if (kind != fb::RegionKind::transient)
      return note;
    std::vector<std::string> parts;
    std::map<std::string, uint64_t> peaks;
    if (auto entry = plan::mainProgram(*columns_[0].kind))
      peaks = columns_[0].summary->programs[*entry].peaks;
    for (const auto &[name, bytes] : peaks)
      parts.push_back(bytesText(bytes) + " " + name);
    return peaks.size() < 2 ? note : "values of one pass: at most " + join(parts, ", ");
  }

  std::string frames() const {
    uint32_t most = 0;
    for (const Column &column : columns_)
      for (uint32_t i = 0; i < lengthOf(column.kind->regions()); ++i)
        if (column.kind->regions()->Get(i)->kind() == fb::RegionKind::residual)
          most = std::max(most, column.kind->regions()->Get(i)->frames());
    return most > 1 ? ", of up to " + countText(most) + " micro-batches" : "";
  }

  void states() {
    for (const char *role : {"parameter", "gradient", "optimizer", "buffer"})
      bytesLine(
          std::string("    ") + role, [&](const Column &c) { return lookUp(c.summary->bytesByRole, role); },
          storage(role));
    bytesLine(
        "    other",
        [](const Column &c) {
          uint64_t sum = 0;
          for (const char *role : {"scalar", "constant", "coordinate"})
            sum += lookUp(c.summary->bytesByRole, role);
          return sum;
        },
        "constants; step, rate and loss; the rank's coordinates");
  }

  // Returns how the states of a role are stored: "bf16, split over fsdp". If they differ, lists all types, slots and
  // axes.
  std::string storage(const std::string &role) const {
    std::set<std::string> types, slots, split, partial;
    uint64_t whole = 0, own = 0, host = 0;
    for (const Column &column : columns_) {
      for (uint32_t i = 0; i < lengthOf(column.kind->states()); ++i) {
        const fb::State &state = *column.kind->states()->Get(i);
        if (fb::EnumNameRole(state.role()) != role)
          continue;
        types.insert(fb::EnumNameDType(state.dtype()));
        if (state.role() == fb::Role::optimizer)
          slots.emplace(textOf(state.slot()));
        if (lengthOf(state.split_axes()) != 0)
          split.insert(axesText(*column.kind, state.split_axes()));
        if (lengthOf(state.partial_axes()) != 0)
          partial.insert(axesText(*column.kind, state.partial_axes()));
      }
      whole += lookUp(column.summary->wholeByRole, role);
      own += lookUp(column.summary->bytesByRole, role);
      host += lookUp(column.summary->hostByRole, role);
    }
    std::vector<std::string> parts = {join({types.begin(), types.end()}, " and ")};
    if (!slots.empty())
      parts.push_back(join({slots.begin(), slots.end()}, " and "));
    if (own < whole)
      parts.push_back("split over " + join({split.begin(), split.end()}, " and "));
    if (!partial.empty())
      parts.push_back("each rank of " + join({partial.begin(), partial.end()}, " and ") + " its own sum");
    if (host != 0)
      parts.push_back("in host memory");
    return join(parts, ", ");
  }

  void step(uint32_t entry) {
    std::string name(textOf(plan_.programs()->Get(entry)->name()));
    table_.line("", {});
    table_.line(name == "train_step" ? "A TRAINING STEP" : name == "infer" ? "A RUN OF infer" : "A RUN OF " + name, {});
    std::vector<std::string> flops, instructions;
    for (const Column &column : columns_) {
      flops.push_back(flopsText(column.summary->programs[*plan::programNamed(*column.kind, name)].flops));
      instructions.push_back(countText(column.summary->programs[*plan::programNamed(*column.kind, name)].executed));
    }
    table_.line("  arithmetic", flops, "of one rank");
    table_.line("  instructions", instructions, name == "train_step" ? "executed in a step" : "executed in a run");
    auto program = [&](const Column &c) -> const ProgramSummary & {
      return c.summary->programs[*plan::programNamed(*c.kind, name)];
    };
    kernels();
    bytesLine(
        "  from host memory", [&](const Column &c) { return program(c).copiedIn; }, "copied to the device");
    bytesLine(
        "  to host memory", [&](const Column &c) { return program(c).copiedOut; }, "");
    if (!bytesLine(
            "  sends", [&](const Column &c) { return program(c).sentBytes; }, "of one rank, without headers"))
      table_.line("  sends", std::vector<std::string>(columns_.size(), "nothing"));
    std::set<std::string> axes;
    for (const Column &column : columns_)
      for (const auto &[each, traffic] : column.traffic)
        axes.insert(each);
    for (const std::string &each : axes)
      bytesLine(
          "    over " + each,
          [&](const Column &c) {
            auto found = c.traffic.find(each);
            return found == c.traffic.end() ? 0 : found->second.sent;
          },
          collectives(each));
  }

  // Says how products and convolutions compute, if they use a 16-bit type, which may be emulated.
  void kernels() {
    std::vector<std::string> parts;
    bool isNarrow = false;
    for (const auto &[type, number] : columns_[0].summary->libraryByType) {
      std::string how = libraryArithmetic(plan_, type);
      parts.push_back(countText(number) + " in " + type + (how.empty() ? "" : ", " + how));
      isNarrow |= type.find("16") != std::string::npos;
    }
    if (isNarrow)
      table_.line("  library kernels", {}, join(parts, "; "));
  }

  std::string collectives(const std::string &axes) const {
    const Column *most = nullptr;
    uint64_t sent = 0;
    for (const Column &column : columns_)
      if (auto found = column.traffic.find(axes); found != column.traffic.end() && found->second.sent >= sent) {
        most = &column;
        sent = found->second.sent;
      }
    std::vector<std::string> parts;
    for (const auto &[mnemonic, times] : most->traffic.at(axes).times)
      parts.push_back(countText(times) + " " + mnemonic);
    return join(parts, ", ") + (columns_.size() > 1 ? " (" + shortName(most->summary->kind, 20) + ")" : "");
  }

  // Explains the words for what ranks exchange; only those that the step has.
  std::string legend() const {
    std::set<std::string> used;
    for (const Column &column : columns_)
      for (const auto &[axes, traffic] : column.traffic)
        for (const auto &[mnemonic, times] : traffic.times)
          used.insert(mnemonic);
    std::vector<std::string> parts;
    for (const auto &[mnemonic, meaning] : std::initializer_list<std::pair<const char *, const char *>>{
             {"all_gather", "joins the parts that ranks hold (gathered)"},
             {"reduce_scatter", "adds up what is unreduced, and leaves each rank its part of the sum"},
             {"all_reduce", "adds up what is unreduced, and gives all ranks the sum"},
             {"reduce", "adds up for one rank"},
             {"broadcast", "gives one rank's value to all"},
             {"send", "and recv: between stages"}})
      if (used.count(mnemonic))
        parts.push_back(std::string(mnemonic) + " " + meaning);
    std::string text;
    if (!parts.empty())
      for (const std::string &line : wrapped(join(parts, "; "), 100))
        text += line + "\n";
    return text;
  }

  // Shows "evaluate" on one line: its arithmetic, and what it sends.
  void other(const std::string &name) {
    std::vector<std::string> flops;
    uint64_t sent = 0;
    for (const Column &column : columns_) {
      const ProgramSummary &program = column.summary->programs[*plan::programNamed(*column.kind, name)];
      flops.push_back(flopsText(program.flops));
      sent = std::max(sent, program.sentBytes);
    }
    table_.line("A RUN OF " + name, flops, sent == 0 ? "" : "sends " + bytesText(sent));
  }

  static std::string portText(const fb::Port &port) {
    std::string text = shortName(textOf(port.name()), 40) + ": " + fb::EnumNameDType(port.dtype()) + "[";
    for (uint32_t i = 0; i < lengthOf(port.shape()); ++i)
      text += (i ? ", " : "") + std::string(static_cast<int>(i) == port.batch_dim() ? "batch " : "") +
              std::to_string(port.shape()->Get(i));
    return text + "]";
  }

  std::string ports() const {
    auto entry = plan::mainProgram(plan_);
    std::string text;
    if (!entry)
      return text;
    auto list = [&](const char *what, const auto *ports) {
      constexpr size_t kMost = 4;
      for (uint32_t i = 0; i < std::min(kMost, lengthOf(ports)); ++i)
        text += std::string(what) + " " + portText(*ports->Get(i)) + "\n";
      if (lengthOf(ports) > kMost)
        text += "and " + countText(lengthOf(ports) - kMost) + " more of them (--details)\n";
    };
    list("input ", plan_.programs()->Get(*entry)->inputs());
    list("output", plan_.programs()->Get(*entry)->outputs());
    return text;
  }

  const fb::Plan &plan_;
  PlanSummary summary_;
  std::vector<Column> columns_;
  Table table_;
};

} // namespace

std::string summaryText(const fb::Plan &plan) { return SummaryPrinter(plan).print(); }

} // namespace cleave::view
