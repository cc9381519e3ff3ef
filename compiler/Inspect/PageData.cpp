// The numbers of a page (Page.h), as JSON. Texts that occur often are indices in `names`.
#include "compiler/Inspect/Human.h"
#include "compiler/Inspect/MemoryUse.h"
#include "compiler/Inspect/Page.h"
#include "compiler/Inspect/PageProfile.h"
#include "compiler/Inspect/Parameters.h"
#include "compiler/Inspect/Prediction.h"
#include "compiler/Inspect/Summary.h"
#include "compiler/Inspect/Traffic.h"
#include "compiler/Support/NodeNote.h"
#include "runtime/plan/PlanSummary.h"
#include "runtime/plan/Properties.h"
#include "runtime/plan/RankKinds.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace cleave::view {

using namespace rt;
using nlohmann::json;

namespace {

class PageData {
public:
  PageData(const fb::Plan &plan, const PageParts &parts) : plan_(plan), kinds_(kindsOf(plan)) {
    const Measured *measured = parts.measured;
    std::string model = propertyOf(plan, kModelProperty);
    data_["title"] = model.empty() ? "a plan" : model;
    data_["headline"] = headline(plan);
    PlanSummary summary = summarize(plan);
    data_["kinds"] = json::array();
    for (size_t i = 0; i < kinds_.size(); ++i)
      data_["kinds"].push_back(kindJson(*kinds_[i], i == 0 ? summary : summary.others[i - 1]));
    auto entry = plan::mainProgram(plan);
    std::string name = entry ? std::string(textOf(plan.programs()->Get(*entry)->name())) : "";
    data_["entry"] = name;
    std::optional<plan::StepTimeline> predicted;
    if (parts.predicted)
      predicted = *parts.predicted;
    else
      predicted = plan::timelineOf(plan, name, plan::plainCosts(plan), plan::TimelineDetail::Streams);
    data_["machine"] = parts.machine ? json(parts.machine->machine.name) : json();
    data_["machineText"] = machineText(parts.machine ? &parts.machine->machine : nullptr);
    data_["bodies"] = explainBodies(plan);
    data_["profile"] = profileJson(plan, parts);
    data_["predicted"] = predicted ? timelineJson(*predicted) : json();
    data_["measured"] = measured ? timelineJson(measured->timeline) : json();
    if (measured)
      data_["measured"]["source"] = measured->source;
    addParameters();
    data_["names"] = names_;
  }

  // Names come from models and may not be UTF-8.
  std::string take() const { return data_.dump(-1, ' ', false, json::error_handler_t::replace); }

private:
  static constexpr size_t kSlices = 1200, kAlive = 6;      // of all kinds together; values named for each slice
  static constexpr size_t kSpans = 16000, kBodies = 24000; // of all lanes together
  static constexpr size_t kExchanges = 1200, kTensors = 2500;

  size_t nameNumber(const std::string &name) {
    auto [found, isNew] = known_.try_emplace(name, names_.size());
    if (isNew)
      names_.push_back(name);
    return found->second;
  }

  //===--- Memory -------------------------------------------------------------------------------------------------===//

  json kindJson(const fb::Plan &kind, const PlanSummary &summary) {
    json result = {{"name", summary.kind}, {"ranks", summary.ranksOfKind}, {"total", summary.totalBytes}};
    result["planned"] = json::object();
    for (const auto &[name, bytes] : summary.bytesByKind)
      result["planned"][name] = bytes;
    for (const auto &[role, bytes] : summary.bytesByRole)
      result["state"][role] = {bytes, summary.wholeByRole.at(role)};
    result["streams"] = json::array();
    for (uint32_t i = 0; i < lengthOf(kind.streams()); ++i)
      result["streams"].push_back(kind.streams()->Get(i)->str());
    result["frames"] = framesOf(kind);
    if (auto entry = plan::mainProgram(kind)) {
      result["memory"] = memoryJson(kind, *entry);
      addTraffic(kind, *entry, result);
    }
    return result;
  }

  static uint32_t framesOf(const fb::Plan &kind) {
    uint32_t frames = 0;
    for (uint32_t i = 0; i < lengthOf(kind.regions()); ++i)
      if (kind.regions()->Get(i)->kind() == fb::RegionKind::residual)
        frames = std::max(frames, kind.regions()->Get(i)->frames());
    return frames;
  }

  std::string passName(const fb::Plan &kind, uint32_t program, int64_t microBatch) const {
    const fb::Program &body = *kind.programs()->Get(program);
    std::string name(textOf(body.name()));
    return body.entry() ? name : name + ", micro-batch " + std::to_string(microBatch);
  }

  json memoryJson(const fb::Plan &kind, uint32_t entry) {
    MemoryUse use = memoryUse(kind, entry, std::max<size_t>(kSlices / kinds_.size(), 100));
    json memory = {{"instructions", use.instructions},
                   {"allInstructions", use.allInstructions},
                   {"peak", use.peakSlice},
                   {"at", use.peakInstructions}};
    for (fb::RegionKind region : fb::EnumValuesRegionKind()) {
      auto at = static_cast<size_t>(region);
      if (use.planned[at] == 0)
        continue;
      json slices = json::array();
      for (const BytesByKind &peak : use.peaks)
        slices.push_back(peak[at]);
      memory["use"][fb::EnumNameRegionKind(region)] = std::move(slices);
      memory["meaning"][fb::EnumNameRegionKind(region)] = meaningOf(region);
    }
    memory["where"] = json::array();
    for (size_t instruction : use.peakInstructions) {
      const BodyRun *body = use.bodyAt(instruction);
      memory["where"].push_back(nameNumber(body ? passText(kind, use, *body, instruction) : ""));
    }
    addAlive(kind, use, memory);
    return memory;
  }

  // Adds, for each slice, the largest values at its fullest instruction: [name, made in, kind, bytes].
  void addAlive(const fb::Plan &kind, const MemoryUse &use, json &memory) {
    std::vector<std::vector<const LiveValue *>> alive(use.peakInstructions.size());
    auto isSmaller = [](const LiveValue *a, const LiveValue *b) { return a->bytes > b->bytes; };
    for (const LiveValue &value : use.values) {
      auto slice = std::lower_bound(use.peakInstructions.begin(), use.peakInstructions.end(), value.born) -
                   use.peakInstructions.begin();
      for (auto at = static_cast<size_t>(slice); at < alive.size() && use.peakInstructions[at] <= value.last; ++at) {
        alive[at].push_back(&value);
        std::push_heap(alive[at].begin(), alive[at].end(), isSmaller);
        if (alive[at].size() > kAlive) {
          std::pop_heap(alive[at].begin(), alive[at].end(), isSmaller);
          alive[at].pop_back();
        }
      }
    }
    memory["alive"] = json::array();
    for (auto &values : alive) {
      std::sort_heap(values.begin(), values.end(), isSmaller);
      json list = json::array();
      for (const LiveValue *value : values) {
        std::string what = value->use == ValueUse::Value ? fb::EnumNameRegionKind(value->region) : wordsFor(value->use);
        list.push_back({nameNumber(nameOf(kind, *value)),
                        nameNumber(passText(kind, use, use.bodies[value->body], value->born)), nameNumber(what),
                        value->bytes});
      }
      memory["alive"].push_back(std::move(list));
    }
  }

  //===--- Traffic ------------------------------------------------------------------------------------------------===//

  void addTraffic(const fb::Plan &kind, uint32_t entry, json &result) {
    std::vector<Exchange> exchanges = exchangesOf(kind, entry);
    result["sent"] = json::object();
    for (const auto &[axes, traffic] : trafficByAxes(exchanges))
      result["sent"][axes] = {{"bytes", traffic.sent}, {"times", traffic.times}};
    std::stable_sort(exchanges.begin(), exchanges.end(),
                     [](const Exchange &a, const Exchange &b) { return a.sent > b.sent; });
    result["exchangesLeftOut"] = exchanges.size() - std::min(exchanges.size(), kExchanges);
    result["exchanges"] = json::array();
    for (size_t i = 0; i < std::min(exchanges.size(), kExchanges); ++i) {
      const Exchange &e = exchanges[i];
      result["exchanges"].push_back({e.mnemonic, e.axes, nameNumber(e.tensor), nameNumber(e.program),
                                     nameNumber(e.made), nameNumber(e.used), e.bytes, e.times, e.sent});
    }
  }

  //===--- Time ---------------------------------------------------------------------------------------------------===//

  // Returns microseconds, which are short to write.
  static double micro(double seconds) { return static_cast<double>(static_cast<int64_t>(seconds * 1e7 + 0.5)) / 10; }

  json timelineJson(const plan::StepTimeline &timeline) {
    json result = {{"duration", micro(timeline.duration)}, {"idle", timeline.idleShare()}, {"kinds", json::array()}};
    size_t lanes = 0, bodies = 0;
    double end = timeline.duration; // other streams may end after the first one
    for (const plan::KindTimeline &kind : timeline.kinds)
      for (const plan::StreamSpan &span : kind.spans)
        end = std::max(end, span.end);
    result["end"] = micro(end);
    for (const plan::KindTimeline &kind : timeline.kinds) {
      bodies += kind.bodies.size();
      std::set<unsigned> streams;
      for (const plan::StreamSpan &span : kind.spans)
        streams.insert(span.stream);
      lanes += streams.size();
    }
    double shortest = timeline.duration * static_cast<double>(std::max<size_t>(lanes, 1)) / kSpans;
    for (size_t i = 0; i < timeline.kinds.size(); ++i) {
      const plan::KindTimeline &kind = timeline.kinds[i];
      json entry = {{"name", kind.kind},
                    {"busy", micro(kind.busy)},
                    {"bodies", json::array()},
                    {"lanes", lanesOf(i, kind, shortest)}};
      for (const plan::BodySpan &body : kind.bodies)
        if (bodies <= kBodies || body.end - body.start >= timeline.duration / kBodies)
          entry["bodies"].push_back({nameNumber(body.program), body.microBatch, micro(body.start), micro(body.end)});
      result["kinds"].push_back(std::move(entry));
    }
    return result;
  }

  struct Merged {
    double start, end, busy;
    size_t count;
    const plan::StreamSpan *longest;
  };

  // Returns one list for each stream: [start, end, busy, number of instructions, name of the longest].
  json lanesOf(size_t number, const plan::KindTimeline &kind, double shortest) {
    std::map<unsigned, std::vector<const plan::StreamSpan *>> streams;
    for (const plan::StreamSpan &span : kind.spans)
      streams[span.stream].push_back(&span);
    json lanes = json::object();
    for (auto &[stream, spans] : streams) {
      std::stable_sort(spans.begin(), spans.end(), [](const auto *a, const auto *b) { return a->start < b->start; });
      json list = json::array();
      for (const Merged &one : mergeShort(spans, shortest))
        list.push_back(
            {micro(one.start), micro(one.end), micro(one.busy), one.count, spanName(*kinds_[number], *one.longest)});
      lanes[std::to_string(stream)] = std::move(list);
    }
    return lanes;
  }

  // Merges neighbours of which one is too short to be seen.
  static std::vector<Merged> mergeShort(const std::vector<const plan::StreamSpan *> &spans, double shortest) {
    std::vector<Merged> merged;
    for (const plan::StreamSpan *span : spans) {
      double length = span->end - span->start;
      bool joins = !merged.empty() && span->start - merged.back().end < shortest &&
                   (merged.back().end - merged.back().start < shortest || length < shortest) &&
                   span->end - merged.back().start < 8 * shortest;
      if (!joins) {
        merged.push_back({span->start, span->end, length, 1, span});
        continue;
      }
      Merged &last = merged.back();
      last.end = std::max(last.end, span->end);
      last.busy += length;
      ++last.count;
      if (length > last.longest->end - last.longest->start)
        last.longest = span;
    }
    return merged;
  }

  size_t spanName(const fb::Plan &kind, const plan::StreamSpan &span) {
    if (!span.name.empty())
      return nameNumber(span.name);
    InstructionView view(*kind.programs()->Get(span.program)->instructions()->Get(span.instruction));
    std::string what(view.info().mnemonic);
    if (view.opcode() == Opcode::Launch)
      what = nodeOfNote(view.note());
    else
      what += " of " + (view.note().empty() ? tensorName(kind, span) : nodeOfNote(view.note()));
    return nameNumber(what + "\n" + passName(kind, span.program, span.microBatch));
  }

  const std::string &tensorName(const fb::Plan &kind, const plan::StreamSpan &span) {
    auto [found, isNew] = tensors_.try_emplace(std::tuple(&kind, span.program, span.instruction));
    if (isNew)
      found->second = tensorOf(kind, span.program, span.instruction);
    return found->second;
  }

  //===--- State --------------------------------------------------------------------------------------------------===//

  void addParameters() {
    Parameters parameters = parametersOf(plan_);
    data_["ways"] = parameters.ways;
    std::vector<std::pair<size_t, uint64_t>> sums(parameters.ways.size());
    for (const ParameterRow &row : parameters.rows) {
      ++sums[row.way].first;
      sums[row.way].second += row.bytes;
    }
    data_["waySums"] = sums;
    data_["tensors"] = json::array();
    for (size_t i = 0; i < std::min(parameters.rows.size(), kTensors); ++i) {
      const ParameterRow &row = parameters.rows[i];
      data_["tensors"].push_back({row.name, row.shape, row.bytes, row.way, nameNumber(row.state)});
    }
    data_["tensorsLeftOut"] = parameters.rows.size() - data_["tensors"].size();
  }

  const fb::Plan &plan_;
  std::vector<const fb::Plan *> kinds_;
  json data_;
  std::vector<std::string> names_;
  std::map<std::string, size_t> known_;
  std::map<std::tuple<const fb::Plan *, uint32_t, uint32_t>, std::string> tensors_;
};

} // namespace

std::string pageJson(const fb::Plan &plan, const PageParts &parts) { return PageData(plan, parts).take(); }

} // namespace cleave::view
