// CLI11 reports errors by exceptions. This file is compiled with exceptions.
#include "tools/cleave/ConfigFile.h"

#include "compiler/Support/InputFile.h"
#include "runtime/base/JsonDepth.h"
#include "runtime/base/JsonKeys.h"
#include "runtime/base/Printable.h"
#include "runtime/main/UnknownOption.h"

#include <nlohmann/json.hpp>

namespace cleave {
namespace {

// Makes NUL printable, because an exception's text would end there. A key of the file may have one.
[[noreturn]] void failConfig(const std::string &message) {
  throw CLI::ValidationError("--config", rt::printable(message));
}

// Checks that a switch is true or false, and that any other option has a value.
void checkSwitch(const std::string &path, const std::string &key, const CLI::Option &option,
                 const nlohmann::json &value) {
  bool isSwitch = option.get_items_expected_max() == 0;
  if (isSwitch != value.is_boolean())
    failConfig(path + ": '" + key + "' " +
               (isSwitch ? "must be true or false" : "needs a value, as --" + key + " does") +
               "; got: " + value.dump());
}

// Parses the object in `text`. Messages of the JSON library begin with a number in brackets, which is removed.
nlohmann::json configObject(const std::string &path, llvm::StringRef text) {
  nlohmann::json json;
  rt::RepeatedKeys keys;
  try {
    json = nlohmann::json::parse(text.begin(), text.end(), std::ref(keys));
  } catch (const nlohmann::json::exception &e) {
    llvm::StringRef what = e.what();
    failConfig(path + " is not a JSON object of options: " + what.substr(what.find("] ") + 2).str());
  }
  if (!json.is_object())
    failConfig(path + R"( is not a JSON object of options; expected one, as in {"dim": "batch=8", "train": true})");
  if (!keys.twice().empty())
    failConfig(path + ": " + keys.twice() + " is there twice; write a list of its values");
  return json;
}

std::string unknownKey(const CLI::App &compile, const std::string &key) {
  std::string name = key.substr(std::min(key.find_first_not_of('-'), key.size()));
  if (name != key && compile.get_option_no_throw("--" + name))
    return "the key '" + key + "' has an option's dashes; write '" + name + "'";
  return rt::describeUnknownOption(compile, rt::KnownProgram::Cleave, "--" + key, "; see cleave compile --help");
}

// Returns the options of one file as arguments.
std::vector<std::string> configArguments(const std::string &path, const CLI::App &compile) {
  auto file = readInputFile(path, "a JSON object of options");
  if (!file)
    failConfig(llvm::toString(file.takeError()));
  llvm::StringRef bytes = (*file)->getBuffer();
  constexpr unsigned kLevels = 8; // an object, and lists in it
  if (rt::isJsonDeeper(std::string_view(bytes.data(), bytes.size()), kLevels))
    failConfig(path +
               ": expected a JSON object of options, each a text, a number, a boolean or a list of them; got: "
               "brackets that nest deeper than " +
               std::to_string(kLevels) + " levels");
  nlohmann::json json = configObject(path, bytes);
  for (const char *key : {"zero_optimization", "train_batch_size", "train_micro_batch_size_per_gpu"})
    if (json.contains(key))
      failConfig(path + ": this looks like a configuration of DeepSpeed ('" + key +
                 R"('); expected the options of cleave compile, as in {"mesh": "fsdp=8", "precision": "bf16"})");
  std::vector<std::string> arguments;
  auto text = [](const nlohmann::json &v) { return v.is_string() ? v.get<std::string>() : v.dump(); };
  for (const auto &[key, value] : json.items()) {
    const CLI::Option *option = compile.get_option_no_throw("--" + key);
    if (!option)
      failConfig(path + ": " + unknownKey(compile, key));
    if (key == "config")
      failConfig(path + ": a file of options cannot name another one; leave 'config' out");
    if (option == compile.get_help_ptr())
      failConfig(path + ": a file of options cannot ask for the help; leave '" + key + "' out");
    if (value.is_object() || value.is_null())
      failConfig(path + ": '" + key + "' must be a text, a number, a boolean or a list of them");
    checkSwitch(path, key, *option, value);
    if (value.is_boolean()) {
      if (value.get<bool>())
        arguments.push_back("--" + key);
      continue;
    }
    for (const auto &one : value.is_array() ? value : nlohmann::json::array({value})) {
      arguments.push_back("--" + key);
      arguments.push_back(text(one));
      if (arguments.back().find('\0') != std::string::npos) // a shell could not give such an argument
        failConfig(path + ": '" + key + "' has a NUL in its value; write it without");
    }
  }
  return arguments;
}

} // namespace

std::vector<std::string> expandConfig(int argc, const char *const *argv, const CLI::App &compile,
                                      std::vector<std::string> &files) {
  std::vector<std::string> arguments;
  auto expand = [&](const std::string &file) {
    files.push_back(file);
    auto more = configArguments(file, compile);
    arguments.insert(arguments.end(), more.begin(), more.end());
  };
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--config" && i + 1 < argc) {
      expand(argv[++i]);
    } else if (argument.rfind("--config=", 0) == 0) {
      expand(argument.substr(9));
    } else {
      arguments.push_back(argument);
    }
  }
  return arguments;
}

} // namespace cleave
