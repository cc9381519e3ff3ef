// What a command line with an option that does not exist is told: the same words from `cleave` and from its programs.
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

} // namespace cleave::rt

#endif
