// `cleave` compiles, and its programs train. If an option is given to the wrong one of the two, the message says so.
// Options.def has the options of both. It is made from their --help (test/docs/reference.test).
#ifndef CLEAVE_RUNTIME_MAIN_OTHERPROGRAM_H
#define CLEAVE_RUNTIME_MAIN_OTHERPROGRAM_H

#include <string>
#include <string_view>

namespace cleave::rt {

enum class KnownProgram { Cleave, Compiled };

// Returns where the other program has the option: "cleave compile --mesh", "./model train --data or ./model evaluate
// --data". If `option` is empty, it looks for the command. Empty if the other program does not have it.
inline std::string ofOtherProgram(KnownProgram mine, std::string_view command, std::string_view option) {
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
    if (isMine || row.option != option || (option.empty() && row.command != command))
      continue;
    text += (text.empty() ? "" : " or ") + std::string(row.program == "cleave" ? "cleave " : "./model ") +
            std::string(row.command) + (option.empty() ? "" : " " + std::string(option));
  }
  return text;
}

} // namespace cleave::rt

#endif
