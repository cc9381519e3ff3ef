#include "tools/cleave/Describe.h"

#include "runtime/main/HelpFormatter.h"

#include <algorithm>


namespace cleave {
namespace {

std::vector<const CLI::App *> commandsOf(const CLI::App &app) {
  return app.get_subcommands([](const CLI::App *command) { return !command->get_group().empty(); });
}

bool takesValue(const CLI::Option &option) { return option.get_items_expected_max() > 0; }

// Returns "--output" for "-o,--output", and an empty text for positional arguments.
std::string longName(const CLI::Option &option) {
  return option.get_lnames().empty() ? "" : "--" + option.get_lnames()[0];
}

std::string oneLine(std::string text) {
  for (char &c : text)
    c = c == '\n' ? ' ' : c;
  return text;
}

// Returns "Type to store values in" for a longer help text that begins with it.
std::string firstClause(const std::string &text) {
  size_t end = text.find('\n');
  for (const char *mark : {". ", ": ", "; ", " ("})
    end = std::min(end, text.find(mark));
  return text.substr(0, end);
}

std::string replaceAll(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string join(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<std::string> optionsOf(const CLI::App &command) {
  std::vector<std::string> names;
  for (const CLI::Option *option : command.get_options())
    if (std::string name = longName(*option); !name.empty())
      names.push_back(name);
  return names;
}

std::string bashScript(const CLI::App &app) {
  std::vector<std::string> commands;
  std::string cases;
  for (const CLI::App *command : commandsOf(app)) {
    commands.push_back(command->get_name());
    cases += "    " + command->get_name() + ") options=\"" + join(optionsOf(*command)) + "\" ;;\n";
  }
  return "# bash completion of cleave; made by `cleave completion bash`\n"
         "_cleave() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} options=\"" +
         join(optionsOf(app)) +
         "\"\n"
         "  COMPREPLY=()\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         join(commands) +
         " $options\" -- \"$current\"))\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  if [[ $current == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
         "  else\n"
         "    compopt -o filenames 2>/dev/null\n"
         "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "  fi\n"
         "}\n"
         "complete -F _cleave cleave\n";
}

// Escapes a text inside of '...' of zsh's _arguments, where brackets, colons and quotes have meanings.
std::string zshText(const std::string &text) {
  std::string result;
  for (char c : text)
    result += c == '\'' ? std::string("'\\''") : c == '[' || c == ']' || c == ':' ? std::string("\\") + c : std::string(1, c);
  return result;
}

std::string zshScript(const CLI::App &app) {
  std::string names, cases;
  for (const CLI::App *command : commandsOf(app)) {
    names += "    '" + command->get_name() + ":" + zshText(firstClause(command->get_description())) + "'\n";
    cases += "    " + command->get_name() + ")\n      _arguments -s";
    for (const CLI::Option *option : command->get_options())
      if (std::string name = longName(*option); !name.empty())
        cases += " \\\n        '*" + name + (takesValue(*option) ? "=" : "") + "[" +
                 zshText(firstClause(option->get_description())) + "]" +
                 (takesValue(*option) ? ":" + zshText(rt::HelpFormatter::valueForm(*option)) + ":_files" : "") + "'";
    cases += " \\\n        '*:file:_files' ;;\n";
  }
  return "#compdef cleave\n# zsh completion of cleave; made by `cleave completion zsh`\n"
         "_cleave() {\n"
         "  local -a commands\n"
         "  commands=(\n" +
         names +
         "  )\n"
         "  if (( CURRENT == 2 )); then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local chosen=$words[2]\n"
         "  shift words\n"
         "  (( CURRENT-- ))\n"
         "  case $chosen in\n" +
         cases +
         "  esac\n"
         "}\n"
         "_cleave \"$@\"\n";
}

std::string fishText(const std::string &text) { return "'" + replaceAll(replaceAll(text, "\\", "\\\\"), "'", "\\'") + "'"; }

std::string fishScript(const CLI::App &app) {
  std::string text = "# fish completion of cleave; made by `cleave completion fish`\n";
  for (const CLI::App *command : commandsOf(app))
    text += "complete -c cleave -n __fish_use_subcommand -f -a " + command->get_name() + " -d " +
            fishText(firstClause(command->get_description())) + "\n";
  for (const CLI::App *command : commandsOf(app))
    for (const CLI::Option *option : command->get_options()) {
      if (option->get_lnames().empty())
        continue;
      text += "complete -c cleave -n '__fish_seen_subcommand_from " + command->get_name() + "'";
      if (!option->get_snames().empty())
        text += " -s " + option->get_snames()[0];
      text += " -l " + option->get_lnames()[0] + (takesValue(*option) ? " -r" : "") + " -d " +
              fishText(firstClause(option->get_description())) + "\n";
    }
  return text;
}

// Escapes a text for troff, which reads a leading dot or quote as a command, and '-' as a hyphen.
std::string troff(const std::string &text) {
  std::string result;
  bool begins = true;
  for (char c : text) {
    if (begins && (c == '.' || c == '\''))
      result += "\\&";
    result += c == '\\' ? std::string("\\e") : c == '-' ? std::string("\\-") : std::string(1, c);
    begins = c == '\n';
  }
  return result;
}

std::string troffOption(const CLI::Option &option) {
  std::string names;
  for (const std::string &name : option.get_snames())
    names += (names.empty() ? "" : ", ") + std::string("-") + name;
  for (const std::string &name : option.get_lnames())
    names += (names.empty() ? "" : ", ") + std::string("--") + name;
  std::string text = ".TP\n.B " + troff(names.empty() ? option.get_name() : names);
  if (!names.empty() && takesValue(option))
    text += " \\fI" + troff(rt::HelpFormatter::valueForm(option)) + "\\fR";
  text += "\n" + troff(option.get_description());
  if (!option.get_default_str().empty())
    text += " (default: " + troff(option.get_default_str()) + ")";
  return text + "\n";
}

} // namespace

std::string completionScript(const CLI::App &app, const std::string &shell) {
  return shell == "bash" ? bashScript(app) : shell == "zsh" ? zshScript(app) : fishScript(app);
}

std::string manualPage(const CLI::App &app, const std::string &version) {
  std::string text = ".TH CLEAVE 1 \"\" \"" + troff(version) + "\" \"User Commands\"\n.SH NAME\ncleave \\- compile ONNX models into "
                     "sharded execution plans\n.SH SYNOPSIS\n.B cleave\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n" +
                     troff(app.get_description()) + "\n";
  for (const CLI::App *command : commandsOf(app)) {
    text += ".SH \"CLEAVE " + troff(CLI::detail::to_lower(command->get_name())) + "\"\n" + troff(command->get_description()) + ".\n";
    std::vector<std::string> groups; // in the order of their first options
    for (const CLI::Option *option : command->get_options())
      if (std::find(groups.begin(), groups.end(), option->get_group()) == groups.end())
        groups.push_back(option->get_group());
    for (const std::string &group : groups) {
      if (groups.size() > 1)
        text += ".SS \"" + troff(group) + "\"\n";
      for (const CLI::Option *option : command->get_options())
        if (option->get_group() == group)
          text += troffOption(*option);
    }
    if (!command->get_footer().empty())
      text += ".PP\n.nf\n" + troff(command->get_footer()) + "\n.fi\n";
  }
  return text + ".SH \"SEE ALSO\"\nThe guides in share/doc/cleave. A compiled program has its own help: ./model \\-\\-help.\n";
}

} // namespace cleave
