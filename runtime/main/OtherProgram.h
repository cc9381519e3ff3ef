// `cleave` compiles and its programs train: an option that is given to the wrong one of the two gets a hint. The table
// of both is Options.def, which is made of what their --help prints (test/docs/reference.test).
#ifndef CLEAVE_RUNTIME_MAIN_OTHERPROGRAM_H
#define CLEAVE_RUNTIME_MAIN_OTHERPROGRAM_H

#include <string>
#include <string_view>

namespace cleave::rt {

enum class KnownProgram { Cleave, Compiled };

// Where the other program takes the option, or a command where `option` is empty: "cleave compile --mesh",
// "./model train --steps or ./model evaluate --steps"; empty where it has none such.
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
