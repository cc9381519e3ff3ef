// The message for an option without its value: --save --no-shuffle. CLI11 would take the next option for the value.
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

// Finds an option that needs a value and has another option after it, in arguments that begin with a command. Returns
// the message, or an empty text.
inline std::string findMissingValue(const CLI::App &app, const std::vector<std::string> &arguments) {
  const CLI::App *command = nullptr;
  for (const CLI::App *each : app.get_subcommands([](const CLI::App *) { return true; }))
    if (!arguments.empty() && each->get_name() == arguments[0])
      command = each;
  for (size_t i = 1; command && i + 1 < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string &name = arguments[i], &next = arguments[i + 1];
    const CLI::Option *option = name.size() < 2 || name[0] != '-' ? nullptr : command->get_option_no_throw(name);
    if (!option || option->get_items_expected_min() == 0)
      continue;
    if (looksLikeOption(*command, next))
      return name + ": a value is missing before '" + next + "' (if this is the value, write " + name +
             (name[1] == '-' ? "=" : "") + next + ")";
    ++i; // the value
  }
  return "";
}

} // namespace cleave::rt

#endif
