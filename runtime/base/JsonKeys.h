// Finds keys that are twice in one object of a JSON text.
//
// JSON libraries silently keep the last of the two values, and another program may keep the first. Code that reads a
// JSON file passes it through this callback, and refuses the file if a key is twice in an object:
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

  // The first repeated key, in quotes. Empty if there is none.
  const std::string &twice() const { return twice_; }

private:
  std::vector<std::set<std::string>> open_; // the keys of the objects that are open, outermost first
  std::string twice_;
};

} // namespace cleave::rt

#endif
