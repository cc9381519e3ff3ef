// Reads and writes the JSON of MachineModel.h. Each key is checked by name and range, and unknown keys are refused.
#include "compiler/CostModel/MachineReader.h"

#include "runtime/base/JsonDepth.h"
#include "runtime/base/JsonKeys.h"

namespace cleave {

using nlohmann::json;
using namespace machine;
using rt::Status;

namespace {

Status readRates(const Reader &file, const std::string &key, std::map<std::string, double> *rates) {
  std::optional<Reader> object;
  CLEAVE_TRY(file.object(key, &object));
  const std::vector<std::string> types = {"f64", "bf16", "f16"};
  CLEAVE_TRY(object->checkKeys({"f32"}, types));
  for (const std::string &type : {std::string("f32"), types[0], types[1], types[2]})
    if (object->has(type))
      CLEAVE_TRY(object->number(type, kRate, &(*rates)[type]));
  return Status::ok();
}

Status readLink(const Reader &file, const std::string &key, std::vector<std::string> keys, Link *link,
                uint64_t *ranks = nullptr) {
  std::optional<Reader> object;
  CLEAVE_TRY(file.object(key, &object));
  keys.insert(keys.end(), {"bytes_per_second", "seconds"});
  CLEAVE_TRY(object->checkKeys(keys, {}));
  if (ranks)
    CLEAVE_TRY(object->whole("ranks", kRanks, ranks));
  CLEAVE_TRY(object->number("bytes_per_second", kBandwidth, &link->bytesPerSecond));
  return object->number("seconds", kLatency, &link->seconds);
}

Status readEfficiencies(const Reader &file, MachineModel *machine) {
  std::optional<Reader> object;
  CLEAVE_TRY(file.object("efficiency", &object));
  CLEAVE_TRY(object->checkKeys({"products", "attention", "vector", "memory", "links"}, {}));
  CLEAVE_TRY(object->number("products", kShare, &machine->productEfficiency));
  CLEAVE_TRY(object->number("attention", kShare, &machine->attentionEfficiency));
  CLEAVE_TRY(object->number("vector", kShare, &machine->vectorEfficiency));
  CLEAVE_TRY(object->number("memory", kShare, &machine->memoryEfficiency));
  return object->number("links", kShare, &machine->linkEfficiency);
}

Status parse(std::string_view text, json *result) {
  constexpr unsigned kLevels = 8; // a machine has six
  if (rt::isJsonDeeper(text, kLevels))
    return rt::invalidArgument(
        "expected an object in braces with the machine's rates, which are numbers and texts; got: "
        "brackets that nest deeper than " +
        std::to_string(kLevels) + " levels");
  rt::RepeatedKeys keys;
  try {
    *result = json::parse(text, std::ref(keys));
  } catch (const json::exception &e) {
    std::string what = e.what();
    size_t end = what.find("] ");
    return rt::invalidArgument("this is not JSON: " + (end == std::string::npos ? what : what.substr(end + 2)));
  }
  if (!keys.twice().empty())
    return rt::invalidArgument(keys.twice() + ": this key is there twice; remove one");
  return result->is_object()
             ? Status::ok()
             : rt::invalidArgument("expected an object in braces with the machine's rates; got: " + shown(*result));
}

} // namespace

Status readMachine(std::string_view text, MachineModel *machine) {
  json root;
  CLEAVE_TRY(parse(text, &root));
  Reader file(root, "");
  CLEAVE_TRY(file.checkKeys({"name", "source", "product_flops_per_second", "vector_flops_per_second",
                             "memory_bytes_per_second", "launch_seconds", "node", "efficiency"},
                            {"network", "host_copy", "targets", "measured"}));
  MachineModel read;
  CLEAVE_TRY(file.text("name", &read.name));
  CLEAVE_TRY(file.text("source", &read.source));
  CLEAVE_TRY(readRates(file, "product_flops_per_second", &read.productRates));
  CLEAVE_TRY(readRates(file, "vector_flops_per_second", &read.vectorRates));
  CLEAVE_TRY(file.number("memory_bytes_per_second", kBandwidth, &read.memoryRate));
  CLEAVE_TRY(file.number("launch_seconds", kLatency, &read.launchSeconds));
  CLEAVE_TRY(readLink(file, "node", {"ranks"}, &read.node, &read.nodeRanks));
  if (file.has("network"))
    CLEAVE_TRY(readLink(file, "network", {}, &read.network.emplace()));
  if (file.has("host_copy"))
    CLEAVE_TRY(readLink(file, "host_copy", {}, &read.hostCopy.emplace()));
  CLEAVE_TRY(readEfficiencies(file, &read));
  if (file.has("targets"))
    CLEAVE_TRY(file.texts("targets", &read.targets));
  if (file.has("measured")) {
    std::optional<Reader> measured;
    CLEAVE_TRY(file.object("measured", &measured));
    CLEAVE_TRY(readMeasurements(*measured, &read.measured.emplace()));
  }
  *machine = std::move(read);
  return Status::ok();
}

static json linkJson(const Link &link) {
  return {{"bytes_per_second", link.bytesPerSecond}, {"seconds", link.seconds}};
}

std::string writeMachine(const MachineModel &machine) {
  nlohmann::ordered_json text;
  text["name"] = machine.name;
  text["source"] = machine.source;
  text["product_flops_per_second"] = machine.productRates;
  text["vector_flops_per_second"] = machine.vectorRates;
  text["memory_bytes_per_second"] = machine.memoryRate;
  text["launch_seconds"] = machine.launchSeconds;
  text["node"] = linkJson(machine.node);
  text["node"]["ranks"] = machine.nodeRanks;
  if (machine.network)
    text["network"] = linkJson(*machine.network);
  if (machine.hostCopy)
    text["host_copy"] = linkJson(*machine.hostCopy);
  text["efficiency"] = json{{"products", machine.productEfficiency},
                            {"attention", machine.attentionEfficiency},
                            {"vector", machine.vectorEfficiency},
                            {"memory", machine.memoryEfficiency},
                            {"links", machine.linkEfficiency}};
  if (!machine.targets.empty())
    text["targets"] = machine.targets;
  if (machine.measured)
    text["measured"] = measurementsJson(*machine.measured);
  return text.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace cleave
