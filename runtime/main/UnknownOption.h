// Mistakes in command lines that CLI11 does not find, or finds with too few words: `cleave` and its programs tell them alike.
#ifndef CLEAVE_RUNTIME_MAIN_UNKNOWNOPTION_H
#define CLEAVE_RUNTIME_MAIN_UNKNOWNOPTION_H

#include "runtime/train/NearestName.h"

#include <CLI/CLI.hpp>

namespace cleave::rt {

// "--steps", "--lr", ...
inline std::vector<std::string> optionNames(const CLI::App &command) {
  std::vector<std::string> names;
  for (const CLI::Option *option : command.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

// "train: unknown option '--stpes'; did you mean '--steps'?", or `help` where no option is near.
inline std::string describeUnknownOption(const CLI::App &command, const std::string &name, const std::string &help) {
  std::string near = didYouMean(name, optionNames(command));
  return command.get_name() + ": unknown option '" + name + "'" + (near.empty() ? help : near);
}

// CLI11's "--lr: At Most 1 required but received 2" and "--lr: 1 required FLOAT missing", in plain words. Other texts stay
// as they are.
inline std::string describeMismatch(const std::string &text) {
  std::string option = text.substr(0, text.find(':'));
  if (text.find("At Most 1 required") != std::string::npos)
    return option + " is given more than once";
  return text.find(": 1 required ") != std::string::npos ? option + ": expected a value; got none" : text;
}

// What is wrong with the values that were given; empty where nothing is. CLI11 takes an empty text, as of a shell's unset
// variable, for 0, for no option at all, or for the default. The value of `text` may be made of blanks.
inline std::string findEmptyValue(const CLI::App &command, const std::string &text = "") {
  for (const CLI::Option *option : command.get_options())
    for (const std::string &value : option->results())
      if (value.empty() || (option->get_name() != text && value.find_first_not_of(" \t\r\n") == std::string::npos))
        return option->get_name() + ": expected a value; got an empty one";
  return "";
}

} // namespace cleave::rt

#endif
