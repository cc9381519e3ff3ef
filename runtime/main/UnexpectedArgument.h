// The message for a word that no option takes: --mesh dp=2 fsdp=2. CLI11 would only say "The following argument was not
// expected". Most such words are meant for the option before them.
#ifndef CLEAVE_RUNTIME_MAIN_UNEXPECTEDARGUMENT_H
#define CLEAVE_RUNTIME_MAIN_UNEXPECTEDARGUMENT_H

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace cleave::rt {

// An option of a command line, and its value.
struct GivenOption {
  const CLI::Option *option = nullptr;
  std::string name, value;
};

// The option whose value is arguments[i], or ends it (--mesh=dp=2). `option` is null if there is none.
inline GivenOption optionAt(const CLI::App &command, const std::vector<std::string> &arguments, size_t i) {
  auto find = [&](const std::string &name) {
    const CLI::Option *option = name.empty() || name[0] != '-' ? nullptr : command.get_option_no_throw(name);
    return option && option->get_items_expected_max() > 0 ? option : nullptr;
  };
  if (const CLI::Option *option = i > 0 ? find(arguments[i - 1]) : nullptr)
    return {option, arguments[i - 1], arguments[i]};
  size_t equals = std::min(arguments[i].find('='), arguments[i].size());
  std::string name = arguments[i].substr(0, equals);
  const CLI::Option *option = equals == arguments[i].size() ? nullptr : find(name);
  return option ? GivenOption{option, name, arguments[i].substr(equals + 1)} : GivenOption{};
}

// "compile: unexpected argument 'fsdp=2' after --mesh dp=2; several values are separated by commas: --mesh
// dp=2,fsdp=2". The message ends in `help` if nothing better is known.
inline std::string describeUnexpected(const CLI::App &command, const std::vector<std::string> &arguments,
                                      const std::string &word, const std::string &help) {
  std::string text = command.get_name() + ": unexpected argument '" + word + "'";
  for (size_t i = 1; i < arguments.size(); ++i) {
    GivenOption before = arguments[i] == word ? optionAt(command, arguments, i - 1) : GivenOption{};
    if (!before.option)
      continue;
    std::string given = before.name + " " + before.value, after = text + " after " + given + "; ";
    std::string form = before.option->get_type_name(); // "AXIS=N"; in "[PATTERN=]RULE" the name may be left out
    bool takesPairs = form.find('=') < form.find('[');
    if (takesPairs && before.value.find('=') == std::string::npos)
      return after + "write " + given + "=" + word;
    if (before.option->get_delimiter() != '\0')
      return after + "several values are separated by commas: " + given + "," + word;
    bool isNameless = takesPairs && word.find('=') == std::string::npos;
    if (isNameless && form.find("=FILE[,FILE]") != std::string::npos)
      return after + "several files are separated by commas: " + given + "," + word;
    std::string missing = isNameless ? form.substr(0, form.find('=') + 1) : ""; // "INPUT="
    if (before.option->get_items_expected_max() > 1)
      return after + "give the option once for each value: " + given + " " + before.name + " " + missing + word;
  }
  return text + help;
}

} // namespace cleave::rt

#endif
