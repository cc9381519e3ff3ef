// All options of a command. CLI11 keeps those of an option group (App::add_option_group) in the group, and
// App::get_options() leaves them out.
#ifndef CLEAVE_RUNTIME_MAIN_ALLOPTIONS_H
#define CLEAVE_RUNTIME_MAIN_ALLOPTIONS_H

#include <CLI/CLI.hpp>

#include <vector>

namespace cleave::rt {

// A command, and its option groups. CLI11 makes a group a command without a name.
inline std::vector<const CLI::App *> withGroups(const CLI::App &command) {
  std::vector<const CLI::App *> parts{&command};
  for (const CLI::App *group : command.get_subcommands([](const CLI::App *app) { return app->get_name().empty(); }))
    for (const CLI::App *part : withGroups(*group))
      parts.push_back(part);
  return parts;
}

// The options and positional arguments, in the order of --help. Each group has a --help of its own, which is left out.
inline std::vector<const CLI::Option *> allOptions(const CLI::App &command) {
  std::vector<const CLI::Option *> options;
  for (const CLI::App *part : withGroups(command))
    for (const CLI::Option *option : part->get_options())
      if (part == &command || option != part->get_help_ptr())
        options.push_back(option);
  return options;
}

} // namespace cleave::rt

#endif
