// Prints a summary as text for people, and as JSON for programs.
#include "runtime/base/Counted.h"
#include "runtime/base/HumanUnits.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanPrinter.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/PlanSummary.h"
#include "runtime/plan/Properties.h"
#include "runtime/plan/RankKinds.h"
#include "runtime/plan/Units.h"

#include <nlohmann/json.hpp>
#include <sstream>

namespace cleave::rt {

// Returns a type's name in the options of `cleave compile`. The plan itself says f32, f16, bf16, ...
static std::string typeText(const std::string &type) { return type == "f16" ? "fp16" : type; }

// "bf16,f32"
static std::string typesText(const std::string &types) {
  std::string text;
  std::istringstream list(types);
  for (std::string type; std::getline(list, type, ',');)
    text += (text.empty() ? "" : ",") + typeText(type);
  return text;
}

// "batch 8 x 1 per rank": the samples of a micro-batch, and the number of micro-batches.
static std::string batchText(const fb::Plan &plan) {
  std::string times = std::to_string(plan.micro_batches());
  if (plan.batch() != 0)
    return "batch " + std::to_string(plan.batch()) + " x " + times + " per rank";
  return plan.micro_batches() > 1 ? "no batch dimension, " + times + " runs per step" : "no batch dimension";
}

// The first column of a table. A longer name moves what follows.
static std::string column(std::string_view name) {
  std::string text(name);
  text.resize(std::max<size_t>(text.size() + 1, 16), ' ');
  return text;
}

static void printBytes(std::ostream &out, const char *title, const std::map<std::string, uint64_t> &bytes) {
  out << title << "\n";
  for (const auto &[name, number] : bytes)
    out << "  " << column(name) << exactBytesText(number) << "\n";
}

// "parameter 1.0 KiB (1024 bytes) of 2.0 KiB (2048 bytes)" if each rank stores a part.
static void printStates(std::ostream &out, const PlanSummary &summary) {
  out << "state of one rank\n";
  for (const auto &[role, bytes] : summary.bytesByRole) {
    out << "  " << column(role) << exactBytesText(bytes);
    if (uint64_t whole = summary.wholeByRole.at(role); whole != bytes)
      out << " of " << exactBytesText(whole);
    if (summary.hostByRole.count(role))
      out << ", in host memory";
    out << "\n";
  }
}

// Prints one line below the program's, but only if there are at least two parts.
static void printParts(std::ostream &out, const char *what, const std::map<std::string, uint64_t> &bytes) {
  std::string text;
  size_t parts = 0;
  for (const auto &[name, number] : bytes)
    if (number != 0)
      text += (parts++ == 0 ? " " : ", ") + name + " " + exactBytesText(number);
  if (parts > 1)
    out << "    " << what << text << "\n";
}

// "bf16 (native)"
static std::string arithmeticText(const fb::Plan &plan, const std::string &type) {
  std::string arithmetic = libraryArithmetic(plan, type);
  return typeText(type) + (arithmetic.empty() ? "" : " (" + arithmetic + ")");
}

// Prints which part has which type. Prints nothing if no type has 16 bits.
static void printPrecision(std::ostream &out, const fb::Plan &plan, const PlanSummary &summary) {
  bool isMixed = false;
  for (const auto &[role, types] : summary.typesByRole)
    isMixed |= types.find("16") != std::string::npos;
  if (!isMixed)
    return;
  out << "precision\n";
  for (const char *role : {"parameter", "gradient", "buffer", "optimizer"})
    if (auto found = summary.typesByRole.find(role); found != summary.typesByRole.end())
      out << "  " << column(role) << typesText(found->second) << "\n";
  std::string kernels;
  for (const auto &[type, number] : summary.libraryByType)
    kernels += (kernels.empty() ? "" : ", ") + std::to_string(number) + " " + arithmeticText(plan, type);
  if (!kernels.empty())
    out << "  library kernels " << kernels << "\n";
}

// Prints nothing if there is no bound for the device.
static void printOutside(std::ostream &out, const PlanSummary &summary) {
  const OutsideMemory &outside = summary.outside;
  if (outside.base == 0)
    return;
  auto libraries = summary.kernels.find("library");
  out << "besides, a process of one rank takes at most " << exactBytesText(outside.ofProcess(1))
      << ": its code and libraries";
  if (libraries != summary.kernels.end())
    out << ", and " << exactBytesText(outside.library) << " for " << libraries->second << " library kernels";
  out << "\n";
}

static void printKind(std::ostream &out, const fb::Plan &plan, const PlanSummary &summary) {
  printBytes(out, "memory of one rank", summary.bytesByKind);
  out << "  " << column("total") << exactBytesText(summary.totalBytes) << "\n";
  if (summary.hostBytes != 0)
    printBytes(out, "host memory of one rank", summary.hostByKind);
  printOutside(out, summary);
  printStates(out, summary);
  printPrecision(out, plan, summary);
  out << "programs\n";
  for (const ProgramSummary &program : summary.programs) {
    if (!program.entry)
      continue;
    out << "  " << program.name << ": " << counted(program.executed, "instruction") << ", " << flopsText(program.flops)
        << ", sends " << exactBytesText(program.sentBytes) << " per rank";
    for (const auto &[name, times] : program.collectives)
      out << ", " << times << " " << name;
    out << "\n";
    printParts(out, "sends", program.sentByKind);
    if (program.copiedIn + program.copiedOut != 0)
      out << "    copies " << exactBytesText(program.copiedIn) << " from host memory, "
          << exactBytesText(program.copiedOut) << " to it\n";
    if (program.peaks.count("gathered") + program.peaks.count("staging") != 0)
      printParts(out, "holds at most", program.peaks);
  }
}

std::string printSummary(const fb::Plan &plan, const PlanSummary &summary) {
  std::ostringstream out;
  out << "target " << textOf(plan.target()) << ", mesh " << meshText(plan) << ", "
      << counted(summary.parameters, "parameter") << ", " << batchText(plan) << "\n";
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  for (size_t i = 0; i < kinds.size(); ++i) {
    const PlanSummary &kind = i == 0 ? summary : summary.others[i - 1];
    if (kinds.size() > 1)
      out << "kind " << describeKind(*kinds[i]) << ": " << kind.ranksOfKind
          << (kind.ranksOfKind == 1 ? " rank\n" : " ranks\n");
    printKind(out, *kinds[i], kind);
  }
  return out.str();
}

// "i64[batch 16, 64]": the shape for one rank and micro-batch.
static std::string portText(const fb::Port &port) {
  std::string text = typeText(fb::EnumNameDType(port.dtype())) + "[";
  for (size_t i = 0; i < lengthOf(port.shape()); ++i)
    text += (i ? ", " : "") + std::string(static_cast<int>(i) == port.batch_dim() ? "batch " : "") +
            std::to_string(port.shape()->Get(i));
  return text + "]";
}

std::string printPorts(const fb::Plan &plan) {
  std::ostringstream out;
  for (size_t i = 0; i < lengthOf(plan.programs()); ++i) {
    const fb::Program &program = *plan.programs()->Get(i);
    if (!program.entry() || lengthOf(program.inputs()) + lengthOf(program.outputs()) == 0)
      continue;
    out << "  " << textOf(program.name()) << "\n";
    for (size_t p = 0; p < lengthOf(program.inputs()); ++p)
      out << "    input " << printName(textOf(program.inputs()->Get(p)->name())) << ": "
          << portText(*program.inputs()->Get(p)) << "\n";
    for (size_t p = 0; p < lengthOf(program.outputs()); ++p)
      out << "    output " << printName(textOf(program.outputs()->Get(p)->name())) << ": "
          << portText(*program.outputs()->Get(p)) << "\n";
  }
  return out.str().empty() ? "" : "inputs and outputs of one rank and micro-batch\n" + out.str();
}

std::string printUnits(const fb::Plan &plan) {
  std::vector<Unit> units = unitsOf(plan);
  std::ostringstream out;
  for (const Unit &unit : units)
    out << "  " << column(textOf(unit.state->name())) << counted(lengthOf(unit.state->segments()), "parameter") << ", "
        << exactBytesText(unit.bytes) << "\n";
  return units.empty() ? "" : "units gathered together: " + std::to_string(units.size()) + "\n" + out.str();
}

static nlohmann::json portsJson(const flatbuffers::Vector<flatbuffers::Offset<fb::Port>> *ports) {
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < lengthOf(ports); ++i) {
    const fb::Port &port = *ports->Get(i);
    nlohmann::json shape = nlohmann::json::array();
    for (size_t d = 0; d < lengthOf(port.shape()); ++d)
      shape.push_back(port.shape()->Get(d));
    nlohmann::json batch = port.batch_dim() < 0 ? nlohmann::json() : nlohmann::json(port.batch_dim());
    list.push_back({{"name", port.name()->str()},
                    {"dtype", fb::EnumNameDType(port.dtype())},
                    {"shape", std::move(shape)},
                    {"batch_dim", std::move(batch)}});
  }
  return list;
}

static nlohmann::json unitsJson(const fb::Plan &plan) {
  nlohmann::json list = nlohmann::json::array();
  for (const Unit &unit : unitsOf(plan))
    list.push_back(
        {{"name", unit.state->name()->str()}, {"parameters", lengthOf(unit.state->segments())}, {"bytes", unit.bytes}});
  return list;
}

static nlohmann::json programJson(const ProgramSummary &program, const fb::Program &source) {
  return {{"inputs", portsJson(source.inputs())},
          {"outputs", portsJson(source.outputs())},
          {"name", program.name},
          {"entry", program.entry},
          {"instructions", program.instructions},
          {"executed", program.executed},
          {"flops", program.flops},
          {"sent_bytes", program.sentBytes},
          {"sent_bytes_by_group", program.sentByGroup},
          {"sent_bytes_by_collective", program.sentByKind},
          {"copied_in_bytes", program.copiedIn},
          {"copied_out_bytes", program.copiedOut},
          {"peak_bytes", program.peaks},
          {"collectives", program.collectives}};
}

// The keys that differ between kinds of ranks.
static nlohmann::json kindJson(const fb::Plan &plan, const PlanSummary &summary) {
  nlohmann::json json = {{"memory", {{"total", summary.totalBytes}, {"by_kind", summary.bytesByKind}}},
                         {"host_memory", {{"total", summary.hostBytes}, {"by_kind", summary.hostByKind}}},
                         {"outside_memory",
                          {{"process", summary.outside.base + summary.outside.generated},
                           {"rank", summary.outside.library + summary.outside.instructions}}},
                         {"state", summary.bytesByRole},
                         {"state_host", summary.hostByRole},
                         {"state_whole", summary.wholeByRole},
                         {"kernels", summary.kernels}};
  json["precision"] = summary.typesByRole;
  json["library_kernels"] = nlohmann::json::object();
  for (const auto &[type, number] : summary.libraryByType)
    json["library_kernels"][type] = {{"number", number}, {"arithmetic", libraryArithmetic(plan, type)}};
  json["units"] = unitsJson(plan);
  json["streams"] = nlohmann::json::array();
  for (size_t i = 0; i < lengthOf(plan.streams()); ++i)
    json["streams"].push_back(plan.streams()->Get(i)->str());
  json["programs"] = nlohmann::json::array();
  for (size_t i = 0; i < summary.programs.size(); ++i)
    json["programs"].push_back(programJson(summary.programs[i], *plan.programs()->Get(i)));
  return json;
}

// The kinds in the plan's order. Each has its name, its number of ranks, and the range of coordinates on each axis.
static nlohmann::json kindsJson(const fb::Plan &plan, const PlanSummary &summary) {
  nlohmann::json json = nlohmann::json::array();
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  for (size_t i = 0; i < kinds.size(); ++i) {
    const PlanSummary &kind = i == 0 ? summary : summary.others[i - 1];
    json.push_back(kindJson(*kinds[i], kind));
    json.back()["name"] = kind.kind;
    json.back()["ranks"] = kind.ranksOfKind;
    for (uint32_t axis = 0; axis < lengthOf(plan.axes()); ++axis) {
      AxisRange range = rangeOf(*kinds[i], axis);
      json.back()["where"][plan.axes()->Get(axis)->name()->str()] = {range.begin, range.end};
    }
  }
  return json;
}

std::string summaryJson(const fb::Plan &plan, const PlanSummary &summary) {
  nlohmann::json json = kindJson(plan, summary);
  json["target"] = std::string(textOf(plan.target()));
  json["threads"] = plan.threads();
  json["batch"] = plan.batch();
  json["micro_batches"] = plan.micro_batches();
  json["ranks"] = summary.ranks;
  json["parameters"] = summary.parameters;
  if (!summary.others.empty())
    json["kinds"] = kindsJson(plan, summary);
  json["axes"] = nlohmann::json::array();
  for (size_t i = 0; i < lengthOf(plan.axes()); ++i)
    json["axes"].push_back({{"name", plan.axes()->Get(i)->name()->str()}, {"size", plan.axes()->Get(i)->size()}});
  json["properties"] = nlohmann::json::object();
  forEachProperty(plan, [&](std::string_view key, std::string_view text) {
    json["properties"][std::string(key)] = std::string(text);
  });
  // Names come from models. They may not be UTF-8, and may hold characters that a terminal obeys.
  return json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace);
}

} // namespace cleave::rt
