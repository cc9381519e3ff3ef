// Options that may be given several times, each with one value: --data a=... --data b=...
//
// CLI11's own options of this kind take all words up to the next option. With them, `cleave compile --dim batch=4
// model.onnx` would take the model for a value of --dim.
#ifndef CLEAVE_RUNTIME_MAIN_LISTOPTION_H
#define CLEAVE_RUNTIME_MAIN_LISTOPTION_H

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace cleave::rt {

// `form` is the text for the value in the help.
inline CLI::Option *addList(CLI::App &command, const char *name, const char *form, std::vector<std::string> &list,
                            const char *help) {
  return command.add_option(name, list, help)->allow_extra_args(false)->type_name(form);
}

} // namespace cleave::rt

#endif
