// Messages for mistakes in command lines that CLI11 does not find, or explains too briefly. `cleave` and its programs
// use the same texts.
#ifndef CLEAVE_RUNTIME_MAIN_UNKNOWNOPTION_H
#define CLEAVE_RUNTIME_MAIN_UNKNOWNOPTION_H

#include "runtime/base/NearestName.h"
#include "runtime/base/OptionText.h"
#include "runtime/main/AllOptions.h"
#include "runtime/main/FamiliarOption.h"
#include "runtime/main/OtherProgram.h"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace cleave::rt {

// The long names of the command's options: "--steps", "--lr", ...
inline std::vector<std::string> optionNames(const CLI::App &command) {
  std::vector<std::string> names;
  for (const CLI::Option *option : allOptions(command))
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

// The other commands of this program that have the option: "train, evaluate". Empty if none has it.
inline std::string commandsWith(const CLI::App &command, const std::string &name) {
  const CLI::App *program = command.get_parent() ? command.get_parent() : &command;
  std::string text;
  for (const CLI::App *other : program->get_subcommands([](const CLI::App *) { return true; }))
    if (other != &command && other->get_option_no_throw(name))
      text += (text.empty() ? "" : ", ") + other->get_name();
  return text;
}

// ", which belongs to: evaluate, generate": the commands of this program or of the other one that have the option.
// Empty if none has it. A command of `cleave` that reads this program is better advice than another compilation. If the
// user typed a command of its name, it is also better advice than other commands of this program.
inline std::string describeOwners(const CLI::App &command, KnownProgram mine, const std::string &name) {
  std::string readers = mine == KnownProgram::Compiled ? ofOtherProgram(mine, "", name, /*readsPrograms=*/true) : "";
  std::string useReaders = ", which belongs to the compiler; use " + readers;
  if (!readers.empty() && !programsReadBy(command.get_name()).empty())
    return useReaders;
  if (std::string own = commandsWith(command, name); !own.empty())
    return ", which belongs to: " + own;
  if (!readers.empty())
    return useReaders;
  std::string others = ofOtherProgram(mine, "", name);
  if (others.empty())
    return "";
  return mine == KnownProgram::Cleave
             ? ", which belongs to the program that cleave compile writes: " + others
             : ", which belongs to the compiler: " + others + "; compile the model again with it";
}

// The message for an unknown word in place of a command.
inline std::string describeUnknownCommand(KnownProgram mine, const std::string &typed,
                                          const std::vector<std::string> &names) {
  std::string text = "unknown command '" + typed + "'";
  if (std::string other = ofOtherProgram(mine, typed, ""); !other.empty())
    return text +
           (mine == KnownProgram::Cleave ? ", which belongs to the program that cleave compile writes: "
                                         : ", which belongs to the compiler: ") +
           other;
  if (typed == "help" || typed == "version")
    return text + "; it is the option --" + typed;
  std::string near = didYouMean(typed, names);
  return text + (near.empty() ? "; expected " + joinNames(names) : near);
}

// "train: unknown option '--stpes'; did you mean '--steps'?", or ending in `help` if no option is near. If the option
// is written before its command, the message says where to write it.
inline std::string describeUnknownOption(const CLI::App &command, KnownProgram mine, const std::string &name,
                                         const std::string &help) {
  std::vector<std::string> names = optionNames(command);
  // Before every message stands the program's name, which is that of the command without a parent.
  std::string unknown = (command.get_parent() ? command.get_name() + ": " : "") + "unknown option '" + name + "'";
  if (std::find(names.begin(), names.end(), name) != names.end())
    return name + " stands before the command; write it after: " + command.get_name() + " " + name;
  if (std::string owners = describeOwners(command, mine, name); !owners.empty())
    return unknown + owners;
  if (std::string advice = familiarOption(name); !advice.empty())
    return unknown + ": " + advice;
  std::string near = didYouMean(name, names);
  return unknown + (near.empty() ? help : near);
}

// Explains CLI11's "--lr: At Most 1 required but received 2" and "--lr: 1 required FLOAT missing". Returns other texts
// unchanged.
inline std::string describeMismatch(const std::string &text) {
  std::string option = text.substr(0, text.find(':'));
  if (text.find("At Most 1 required") != std::string::npos)
    return option + " is given more than once";
  return text.find(": 1 required ") != std::string::npos ? option + ": expected a value; got none" : text;
}

// "the ONNX file" for the help text "The ONNX file. It may be large".
inline std::string firstClause(const CLI::Option &option) {
  std::string text = option.get_description();
  text.resize(std::min(text.find(". "), text.size()));
  text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

// Explains CLI11's "--model is required", with the option's purpose and an example that has it: "export: --model is
// missing (the ONNX file that was compiled); for example: cleave export ckpt --model model.onnx -o trained.onnx".
// Returns other texts unchanged.
inline std::string describeMissing(const CLI::App &command, const std::string &text) {
  size_t end = text.find(" is required");
  const CLI::Option *option = end == std::string::npos ? nullptr : command.get_option_no_throw(text.substr(0, end));
  if (!option)
    return text;
  std::string footer = command.get_footer(), name = text.substr(0, end);
  size_t begin = footer.find("\n  cleave " + command.get_name() + " "); // the footer may begin with another command
  if (begin == std::string::npos)
    begin = footer.find("\n  ");
  std::string example =
      begin == std::string::npos ? "" : footer.substr(begin + 3, footer.find('\n', begin + 1) - begin - 3);
  return command.get_name() + ": " + name + " is missing (" + firstClause(*option) + ")" +
         (example.empty() ? "" : "; for example: " + example);
}

// Explains CLI11's "--loss: mean not in {nll,mse}", "--micro-batches: Value 0 not in range 1 to 8" and "Requires at
// most 1 options be given from [--text,--json]". Returns other texts unchanged.
inline std::string describeValue(const std::string &text) {
  size_t colon = text.find(": "), set = text.rfind(" not in {"), range = text.rfind(" not in range "),
         from = text.find(" from [");
  if (text.rfind("Requires at most 1 options", 0) == 0 && from != std::string::npos)
    return "give at most one of " + joinChoices(splitText(text.substr(from + 7, text.find(']') - from - 7), ','));
  bool isOurs = colon != std::string::npos && text.compare(colon + 2, 9, "expected ") == 0; // may quote such a value
  if (colon == std::string::npos || isOurs || std::min(set, range) == std::string::npos)
    return text;
  bool isRange =
      set == std::string::npos || (range != std::string::npos && range > set); // the value may contain the other text
  std::string option = text.substr(0, colon), value = text.substr(colon + 2, (isRange ? range : set) - colon - 2);
  if (isRange)
    return option + ": expected a number from " + text.substr(range + 14) +
           "; got: " + value.substr(value.rfind("Value ", 0) == 0 ? 6 : 0);
  return option + ": " + expectedOneOf(value, splitText(text.substr(set + 9, text.rfind('}') - set - 9), ','));
}

// Finds a switch with a value, such as "--save-best=banana", in arguments that begin with a command. Returns the
// message, or an empty text. CLI11 would convert the value by stoll, and let its exceptions pass.
inline std::string findSwitchValue(const CLI::App &app, const std::vector<std::string> &arguments) {
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
    for (size_t i = 1; i < arguments.size() && arguments[0] == command->get_name(); ++i) {
      size_t equals = arguments[i].find('=');
      const CLI::Option *option = equals == 0 || equals == std::string::npos
                                      ? nullptr
                                      : command->get_option_no_throw(arguments[i].substr(0, equals));
      std::string value = option ? arguments[i].substr(equals + 1) : "";
      if (option && option->get_items_expected_max() == 0 && value != "true" && value != "false")
        return arguments[i].substr(0, equals) + " is a switch: give it without a value; got: " + value;
    }
  return "";
}

// Finds an empty value among those that were given. Returns the message, or an empty text. CLI11 takes an empty text,
// such as that of an unset variable of the shell, for 0, for no option at all, or for the default. The option `text`
// may be all blanks.
inline std::string findEmptyValue(const CLI::App &command, const std::string &text = "") {
  for (const CLI::Option *option : allOptions(command))
    for (const std::string &value : option->results())
      if (value.empty() || (option->get_name() != text && value.find_first_not_of(" \t\r\n") == std::string::npos))
        return option->get_name() + ": expected a value; got an empty one";
  return "";
}

} // namespace cleave::rt

#endif
