// The reader of TargetMachine.h's JSON: every key by name, its range, and no key that is not known.
#include "compiler/CostModel/TargetMachine.h"

#include "runtime/base/JsonDepth.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <set>

namespace cleave {

using nlohmann::json;
using rt::Status;

namespace {

struct Range {
  double least, most;
  const char *unit;
};

constexpr Range kRate{1e6, 1e18, "FLOP/s"}, kBandwidth{1e3, 1e15, "bytes/s"}, kLatency{0, 1, "seconds"};
constexpr Range kShare{0.01, 1, ""}, kRanks{1, 1e6, ""};

std::string numberText(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

// What stands there, short enough for a message.
std::string shown(const json &value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() <= 40 ? text : text.substr(0, 40) + "...";
}

std::string list(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

// An object of the file; `path` is empty for the whole of it, else "node.".
class Reader {
public:
  Reader(const json &object, std::string path) : object_(object), path_(std::move(path)) {}

  // Before anything is read: all keys that are there are known, and all that are required are there.
  Status checkKeys(const std::vector<std::string> &required, const std::vector<std::string> &optional) const {
    std::vector<std::string> known = required;
    known.insert(known.end(), optional.begin(), optional.end());
    for (const auto &[key, value] : object_.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        return rt::invalidArgument(path_ + shown(json(key)) + ": there is no such key; keys here are " + list(known));
    for (const std::string &key : required)
      if (!has(key))
        return rt::invalidArgument(path_ + key + ": this key is missing; keys here are " + list(known));
    return Status::ok();
  }

  bool has(const std::string &key) const { return object_.contains(key); }
  const json &at(const std::string &key) const { return object_.at(key); }

  Status number(const std::string &key, const Range &range, double *result) const {
    const json &value = at(key);
    double found = value.is_number() ? value.get<double>() : 0;
    if (!value.is_number() || !std::isfinite(found) || found < range.least || found > range.most)
      return rt::invalidArgument(path_ + key + ": expected a number from " + numberText(range.least) + " to " +
                                 numberText(range.most) + (*range.unit ? " " : "") + range.unit +
                                 "; got: " + shown(value));
    *result = found;
    return Status::ok();
  }

  Status whole(const std::string &key, const Range &range, uint64_t *result) const {
    const json &value = at(key);
    double found = value.is_number() ? value.get<double>() : -1;
    if (!value.is_number() || std::floor(found) != found || found < range.least || found > range.most)
      return rt::invalidArgument(path_ + key + ": expected a whole number from " + numberText(range.least) + " to " +
                                 numberText(range.most) + "; got: " + shown(value));
    *result = static_cast<uint64_t>(found);
    return Status::ok();
  }

  Status text(const std::string &key, std::string *result) const {
    if (!at(key).is_string() || at(key).get_ref<const std::string &>().empty())
      return rt::invalidArgument(path_ + key + ": expected a text in quotes; got: " + shown(at(key)));
    *result = at(key).get<std::string>();
    return Status::ok();
  }

  Status texts(const std::string &key, std::vector<std::string> *result) const {
    const json &value = at(key);
    bool isList = value.is_array() && !value.empty() &&
                  std::all_of(value.begin(), value.end(), [](const json &one) { return one.is_string(); });
    if (!isList)
      return rt::invalidArgument(path_ + key + ": expected a list of texts, as [\"cuda:sm_90\"]; got: " + shown(value));
    *result = value.get<std::vector<std::string>>();
    return Status::ok();
  }

  Status object(const std::string &key, std::optional<Reader> *result) const {
    if (!at(key).is_object())
      return rt::invalidArgument(path_ + key + ": expected an object in braces; got: " + shown(at(key)));
    result->emplace(at(key), path_ + key + ".");
    return Status::ok();
  }

private:
  const json &object_;
  std::string path_;
};

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

Status readEfficiencies(const Reader &file, TargetMachine *machine) {
  std::optional<Reader> object;
  CLEAVE_TRY(file.object("efficiency", &object));
  CLEAVE_TRY(object->checkKeys({"products", "attention", "vector", "memory", "links"}, {}));
  CLEAVE_TRY(object->number("products", kShare, &machine->productEfficiency));
  CLEAVE_TRY(object->number("attention", kShare, &machine->attentionEfficiency));
  CLEAVE_TRY(object->number("vector", kShare, &machine->vectorEfficiency));
  CLEAVE_TRY(object->number("memory", kShare, &machine->memoryEfficiency));
  return object->number("links", kShare, &machine->linkEfficiency);
}

// Of an object that says a key twice, the reader would keep either.
struct Keys {
  std::vector<std::set<std::string>> open;
  std::string twice;

  bool operator()(int, json::parse_event_t event, json &value) {
    if (event == json::parse_event_t::object_start)
      open.emplace_back();
    else if (event == json::parse_event_t::object_end && !open.empty())
      open.pop_back();
    else if (event == json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second && twice.empty())
      twice = shown(value);
    return true;
  }
};

Status parse(std::string_view text, json *result) {
  constexpr unsigned kLevels = 8; // a machine has two
  if (rt::isJsonDeeper(text, kLevels))
    return rt::invalidArgument(
        "expected an object in braces with the machine's rates, which are numbers and texts; got: "
        "brackets that nest deeper than " +
        std::to_string(kLevels) + " levels");
  Keys keys;
  try {
    *result = json::parse(text, std::ref(keys));
  } catch (const json::exception &e) {
    std::string what = e.what();
    size_t end = what.find("] ");
    return rt::invalidArgument("this is not JSON: " + (end == std::string::npos ? what : what.substr(end + 2)));
  }
  if (!keys.twice.empty())
    return rt::invalidArgument(keys.twice + ": this key stands there twice; leave one");
  return result->is_object()
             ? Status::ok()
             : rt::invalidArgument("expected an object in braces with the machine's rates; got: " + shown(*result));
}

} // namespace

Status readMachine(std::string_view text, TargetMachine *machine) {
  json root;
  CLEAVE_TRY(parse(text, &root));
  Reader file(root, "");
  CLEAVE_TRY(file.checkKeys({"name", "source", "product_flops_per_second", "vector_flops_per_second",
                             "memory_bytes_per_second", "launch_seconds", "node", "efficiency"},
                            {"network", "host_copy", "targets"}));
  TargetMachine read;
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
  *machine = std::move(read);
  return Status::ok();
}

} // namespace cleave
