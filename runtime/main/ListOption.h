// Options that may be given several times, each with one value: --data a=... --data b=...
//
// CLI11's own options of this kind take all words up to the next option. With them, `cleave compile --dim batch=4
// model.onnx` would take the model for a value of --dim.
#ifndef CLEAVE_RUNTIME_MAIN_LISTOPTION_H
#define CLEAVE_RUNTIME_MAIN_LISTOPTION_H

#include "runtime/base/EmptyItem.h"
#include "runtime/main/UnexpectedArgument.h"

namespace cleave::rt {

// `form` is the text for the value in the help.
inline CLI::Option *addList(CLI::App &command, const char *name, const char *form, std::vector<std::string> &list,
                            const char *help) {
  return command.add_option(name, list, help)->allow_extra_args(false)->type_name(form);
}

// Finds a comma too many in a list that CLI11 splits, in arguments that begin with a command. Returns the message, or an
// empty text. CLI11 would leave out empty items.
inline std::string findEmptyItem(const CLI::App &app, const std::vector<std::string> &arguments) {
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
    for (size_t i = 1; i < arguments.size() && arguments[0] == command->get_name(); ++i) {
      GivenOption given = optionAt(*command, arguments, i);
      std::string wrong = given.option && given.option->get_delimiter() == ',' ? describeEmptyItem(given.value) : "";
      if (!wrong.empty())
        return given.name + ": " + wrong + "; leave the comma out; got: " + given.value;
    }
  return "";
}

} // namespace cleave::rt

#endif
