// Keys that stand twice in one object of a JSON text.
//
// JSON libraries keep the last of two values without a word, and another program may keep the first. Whoever reads a
// file of JSON watches its keys, and refuses the file where one stands twice:
//
//   RepeatedKeys keys;
//   json value = json::parse(text, std::ref(keys));
//   if (!keys.twice().empty()) ...
#ifndef CLEAVE_RUNTIME_BASE_JSONKEYS_H
#define CLEAVE_RUNTIME_BASE_JSONKEYS_H

#include <nlohmann/json.hpp>

#include <set>
#include <string>
#include <vector>

namespace cleave::rt {

class RepeatedKeys {
public:
  bool operator()(int, nlohmann::json::parse_event_t event, nlohmann::json &value) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start)
      open_.emplace_back();
    else if (event == Event::object_end && !open_.empty())
      open_.pop_back();
    else if (event == Event::key && !open_.back().insert(value.get<std::string>()).second && twice_.empty())
      twice_ = "'" + value.get<std::string>() + "'";
    return true;
  }

  // The first such key in quotes; empty where there is none.
  const std::string &twice() const { return twice_; }

private:
  std::vector<std::set<std::string>> open_; // the keys of the objects around the place
  std::string twice_;
};

} // namespace cleave::rt

#endif
