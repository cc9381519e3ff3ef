// `cleave` compiles, and its programs train. If an option is given to the wrong one of the two, the message says so.
// Options.def has the options of both. It is made from their --help (test/docs/reference.test).
#ifndef CLEAVE_RUNTIME_MAIN_OTHERPROGRAM_H
#define CLEAVE_RUNTIME_MAIN_OTHERPROGRAM_H

#include <string>
#include <string_view>

namespace cleave::rt {

enum class KnownProgram { Cleave, Compiled };

// The arguments of a command of `cleave` that reads compiled programs: " PROGRAM". Empty for other commands.
inline std::string programsReadBy(std::string_view command) {
  if (command == "inspect" || command == "verify")
    return " PROGRAM";
  return command == "diff" ? " PROGRAM OTHER" : "";
}

// Returns where the other program has the option: "cleave compile --mesh", "./model train --data or ./model evaluate
// --data". If `option` is empty, it looks for the command. Empty if the other program does not have it. With
// `readsPrograms`, only commands that read a compiled program count.
inline std::string ofOtherProgram(KnownProgram mine, std::string_view command, std::string_view option,
                                  bool readsPrograms = false) {
  struct Row {
    std::string_view program, command, option;
  };
  static constexpr Row rows[] = {
#define CLEAVE_OPTION(program, command, option) {program, command, option},
#include "runtime/main/Options.def"
#undef CLEAVE_OPTION
  };
  std::string text;
  for (const Row &row : rows) {
    bool isMine = (row.program == "cleave") == (mine == KnownProgram::Cleave);
    std::string programs = row.program == "cleave" ? programsReadBy(row.command) : "";
    if (isMine || row.option != option || (option.empty() && row.command != command) ||
        (readsPrograms && programs.empty()))
      continue;
    text += (text.empty() ? "" : " or ") + std::string(row.program == "cleave" ? "cleave " : "./model ") +
            std::string(row.command) + programs + (option.empty() ? "" : " " + std::string(option));
  }
  return text;
}

} // namespace cleave::rt

#endif
