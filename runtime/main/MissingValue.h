// Messages for an option without its value: --save --no-shuffle, where CLI11 would take the next option for the value,
// and for -o=NAME.
#ifndef CLEAVE_RUNTIME_MAIN_MISSINGVALUE_H
#define CLEAVE_RUNTIME_MAIN_MISSINGVALUE_H

#include <CLI/CLI.hpp>

#include <cctype>
#include <string>
#include <vector>

namespace cleave::rt {

// True for words such as "--train", and for "-o" if the command has it. A word that is neither may be a number or a
// text, as of --prompt "-- he said".
inline bool looksLikeOption(const CLI::App &command, const std::string &word) {
  if (word.size() < 2 || word[0] != '-' || word.find_first_of(" \t\r\n") != std::string::npos)
    return false;
  return (word.size() > 2 && word[1] == '-' && std::isalpha(static_cast<unsigned char>(word[2]))) ||
         command.get_option_no_throw(word);
}

// The message for -o=NAME, where CLI11 would take "=NAME" for the value; empty for other words.
inline std::string findShortAssignment(const CLI::App &command, const std::string &word) {
  if (word.size() < 3 || word[0] != '-' || word[1] == '-' || word[2] != '=')
    return "";
  std::string name = word.substr(0, 2);
  const CLI::Option *option = command.get_option_no_throw(name);
  return option && option->get_items_expected_max() > 0
             ? "'" + word + "': a short option has no '='; write " + name + " " + word.substr(3)
             : "";
}

// Finds an option that needs a value and has another option after it, or -o=NAME, in arguments that begin with a
// command. Returns the message, or an empty text.
inline std::string findMissingValue(const CLI::App &app, const std::vector<std::string> &arguments) {
  const CLI::App *command = nullptr;
  for (const CLI::App *each : app.get_subcommands([](const CLI::App *) { return true; }))
    if (!arguments.empty() && each->get_name() == arguments[0])
      command = each;
  for (size_t i = 1; command && i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string &name = arguments[i];
    if (std::string wrong = findShortAssignment(*command, name); !wrong.empty())
      return wrong;
    const CLI::Option *option = name.size() < 2 || name[0] != '-' ? nullptr : command->get_option_no_throw(name);
    if (!option || option->get_items_expected_min() == 0 || i + 1 == arguments.size())
      continue;
    const std::string &next = arguments[i + 1];
    if (looksLikeOption(*command, next))
      return name + ": a value is missing before '" + next + "' (if this is the value, write " + name +
             (name[1] == '-' ? "=" : "") + next + ")";
    ++i; // the value
  }
  return "";
}

} // namespace cleave::rt

#endif
