#include "compiler/CostModel/MachineReader.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace cleave::machine {

using nlohmann::json;
using rt::Status;

static std::string numberText(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

std::string shown(const json &value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() <= 40 ? text : text.substr(0, 40) + "...";
}

static std::string list(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

static bool isInside(const json &value, const Range &range) {
  double found = value.is_number() ? value.get<double>() : 0;
  return value.is_number() && std::isfinite(found) && found >= range.least && found <= range.most;
}

static std::string rangeText(const Range &range) {
  return "from " + numberText(range.least) + " to " + numberText(range.most);
}

Status Reader::checkKeys(const std::vector<std::string> &required, const std::vector<std::string> &optional) const {
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

Status Reader::unexpected(const std::string &key, const std::string &what, const json &found) const {
  return rt::invalidArgument(path_ + key + ": expected " + what + "; got: " + shown(found));
}

Status Reader::number(const std::string &key, const Range &range, double *result) const {
  if (!isInside(at(key), range))
    return unexpected(key, "a number " + rangeText(range) + (*range.unit ? " " : "") + range.unit, at(key));
  *result = at(key).get<double>();
  return Status::ok();
}

Status Reader::whole(const std::string &key, const Range &range, uint64_t *result) const {
  if (!isInside(at(key), range) || std::floor(at(key).get<double>()) != at(key).get<double>())
    return unexpected(key, "a whole number " + rangeText(range), at(key));
  *result = static_cast<uint64_t>(at(key).get<double>());
  return Status::ok();
}

Status Reader::text(const std::string &key, std::string *result) const {
  if (!at(key).is_string() || at(key).get_ref<const std::string &>().empty())
    return unexpected(key, "a text in quotes", at(key));
  *result = at(key).get<std::string>();
  return Status::ok();
}

Status Reader::texts(const std::string &key, std::vector<std::string> *result) const {
  const json &value = at(key);
  bool isList = value.is_array() && !value.empty() &&
                std::all_of(value.begin(), value.end(), [](const json &one) { return one.is_string(); });
  if (!isList)
    return unexpected(key, "a list of texts, as [\"cuda:sm_90\"]", value);
  *result = value.get<std::vector<std::string>>();
  return Status::ok();
}

Status Reader::numbers(const std::string &key, const Range &range, std::vector<double> *result) const {
  const json &value = at(key);
  bool isList = value.is_array() && !value.empty();
  for (size_t i = 0; isList && i < value.size(); ++i)
    if (!isInside(value[i], range))
      return unexpected(key + "[" + std::to_string(i) + "]",
                        "a number " + rangeText(range) + (*range.unit ? " " : "") + range.unit, value[i]);
  if (!isList)
    return unexpected(key, "a list of numbers", value);
  *result = value.get<std::vector<double>>();
  return Status::ok();
}

Status Reader::object(const std::string &key, std::optional<Reader> *result) const {
  if (!at(key).is_object())
    return unexpected(key, "an object in braces", at(key));
  result->emplace(at(key), path_ + key + ".");
  return Status::ok();
}

Status Reader::objects(const std::string &key, std::vector<Reader> *result) const {
  const json &value = at(key);
  if (!value.is_array() || value.empty())
    return unexpected(key, "a list of objects in braces", value);
  for (size_t i = 0; i < value.size(); ++i) {
    std::string name = key + "[" + std::to_string(i) + "]";
    if (!value[i].is_object())
      return unexpected(name, "an object in braces", value[i]);
    result->emplace_back(value[i], path_ + name + ".");
  }
  return Status::ok();
}

} // namespace cleave::machine
