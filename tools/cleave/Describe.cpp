#include "tools/cleave/Describe.h"

#include "runtime/main/AllOptions.h"
#include "runtime/main/HelpFormatter.h"

#include <algorithm>
#include <cctype>

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
  for (const CLI::Option *option : rt::allOptions(command))
    if (std::string name = longName(*option); !name.empty())
      names.push_back(name);
  return names;
}

// What a shell offers for the value of an option or of a positional argument.
struct Values {
  std::vector<std::string> words;
  bool hasFiles = false; // names of files and directories, too
};

// Cuts "auto|pattern=P[|P]|FILE" into "auto", "pattern=P[|P]" and "FILE".
std::vector<std::string> alternativesOf(const std::string &form) {
  std::vector<std::string> parts{""};
  int depth = 0;
  for (char c : form) {
    depth += (c == '[' || c == '(') - (c == ']' || c == ')');
    if (c == '|' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// Reads the form that --help shows. A part of it that begins in lower case, or with a digit, is what a user types, up
// to the first capital letter or bracket: "every=" of "every=N". Capitals stand for something else. FILE, DIR and PATH
// are names of files.
Values valuesOf(const CLI::Option &option) {
  Values values;
  for (std::string part : alternativesOf(rt::HelpFormatter::valueForm(option))) {
    values.hasFiles |= part == "FILE" || part == "DIR" || part == "PATH";
    part.resize(std::find_if(part.begin(), part.end(),
                             [](unsigned char c) { return std::isupper(c) || c == '[' || c == '('; }) -
                part.begin());
    if (!part.empty())
      values.words.push_back(part);
  }
  return values;
}

// Of all positional arguments together: they follow each other, and shells do not count them.
Values positionalValues(const CLI::App &command) {
  Values all;
  for (const CLI::Option *option : rt::allOptions(command))
    if (option->get_positional()) {
      Values values = valuesOf(*option);
      all.words.insert(all.words.end(), values.words.begin(), values.words.end());
      all.hasFiles |= values.hasFiles;
    }
  return all;
}

std::string bashValues(const Values &values) {
  return "words=\"" + join(values.words) + "\" files=" + (values.hasFiles ? "1" : "") + " ;;\n";
}

// Bash cuts words at '=' and ':', too, and completes the last part. So the script joins the parts, chooses among whole
// words, and leaves out of them what the last part does not contain.
constexpr const char *kBashBegin = R"(# bash completion of cleave; made by `cleave completion bash`
_cleave() {
  local words= files= options= option= part typed=() i
  for part in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    i=${#typed[@]}
    if (( i > 1 )) && [[ $part == [:=]* || ${typed[i-1]} == *[:=] ]]; then
      typed[i-1]+=$part
    else
      typed+=("$part")
    fi
  done
  i=${#typed[@]}
  local current=${typed[i-1]} value=${typed[i-1]} last=${COMP_WORDS[COMP_CWORD]}
  if [[ $current == --*=* ]]; then
    option=${current%%=*} value=${current#*=}
  elif (( i > 2 )); then
    option=${typed[i-2]}
  fi
)";

constexpr const char *kBashEnd = R"(  local before=${current%"$value"} found=() done=${current%"$last"}
  [[ $last == [:=] ]] && done=$current
  if [[ -z $before && $value == -* ]]; then
    found=($(compgen -W "$options" -- "$value"))
  else
    found=($(compgen -W "$words" -- "$value"))
    [[ ${#found[@]} -eq 1 && ${found[0]} == *= ]] && compopt -o nospace 2>/dev/null
    if [[ $files ]]; then
      local IFS=$'\n'
      compopt -o filenames 2>/dev/null
      found+=($(compgen -f -- "$value"))
    fi
  fi
  COMPREPLY=()
  for part in "${found[@]}"; do
    part=$before$part
    COMPREPLY+=("${part#"$done"}")
  done
}
complete -F _cleave cleave
)";

std::string bashScript(const CLI::App &app) {
  std::vector<std::string> commands;
  std::string cases, values;
  for (const CLI::App *command : commandsOf(app)) {
    commands.push_back(command->get_name());
    cases += "    " + command->get_name() + ") options=\"" + join(optionsOf(*command)) + "\" " +
             bashValues(positionalValues(*command));
    for (const CLI::Option *option : rt::allOptions(*command)) {
      if (option->get_positional() || !takesValue(*option))
        continue;
      std::string pattern;
      for (const std::string &name : option->get_snames())
        pattern += "\"" + command->get_name() + " -" + name + "\"|";
      values += "    " + pattern + "\"" + command->get_name() + " " + longName(*option) + "\") " +
                bashValues(valuesOf(*option));
    }
  }
  std::string text = kBashBegin;
  text +=
      "  if (( i == 2 )); then\n    words=\"" + join(commands) + "\" options=\"" + join(optionsOf(app)) + "\"\n  fi\n";
  text += "  (( i > 2 )) && case ${typed[1]} in\n" + cases + "  esac\n";
  text += "  case \"${typed[1]} $option\" in\n" + values + "  esac\n";
  return text + kBashEnd;
}

// Escapes a text inside of '...' of zsh's _arguments, where brackets, colons and quotes have meanings.
std::string zshText(const std::string &text) {
  std::string result;
  for (char c : text)
    result += c == '\''                          ? std::string("'\\''")
              : c == '[' || c == ']' || c == ':' ? std::string("\\") + c
                                                 : std::string(1, c);
  return result;
}

// What zsh's _arguments does for a value: names of files, words, both, or nothing.
std::string zshAction(const Values &values) {
  if (values.words.empty())
    return values.hasFiles ? "_files" : " ";
  std::string words = zshText(join(values.words));
  return values.hasFiles ? " _alternative \"words\\:value\\:(" + words + ")\" \"files\\:file\\:_files\""
                         : "(" + words + ")";
}

std::string zshScript(const CLI::App &app) {
  std::string names, cases;
  for (const CLI::App *command : commandsOf(app)) {
    names += "    '" + command->get_name() + ":" + zshText(firstClause(command->get_description())) + "'\n";
    cases += "    " + command->get_name() + ")\n      _arguments";
    for (const CLI::Option *option : rt::allOptions(*command)) {
      std::vector<std::string> typed;
      for (const std::string &name : option->get_snames())
        typed.push_back("-" + name + (takesValue(*option) ? "+" : ""));
      for (const std::string &name : option->get_lnames())
        typed.push_back("--" + name + (takesValue(*option) ? "=" : ""));
      for (const std::string &name : typed)
        cases += " \\\n        '*" + name + "[" + zshText(firstClause(option->get_description())) + "]" +
                 (takesValue(*option)
                      ? ":" + zshText(rt::HelpFormatter::valueForm(*option)) + ":" + zshAction(valuesOf(*option))
                      : "") +
                 "'";
    }
    if (Values values = positionalValues(*command); !values.words.empty() || values.hasFiles)
      cases += " \\\n        '*:argument:" + zshAction(values) + "'";
    cases += " ;;\n";
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

std::string fishText(const std::string &text) {
  return "'" + replaceAll(replaceAll(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fishValues(const Values &values) {
  std::string text = values.hasFiles ? " -F" : " -f";
  return values.words.empty() ? text : text + " -a " + fishText(join(values.words));
}

std::string fishScript(const CLI::App &app) {
  std::string text = "# fish completion of cleave; made by `cleave completion fish`\n";
  for (const CLI::App *command : commandsOf(app))
    text += "complete -c cleave -n __fish_use_subcommand -f -a " + command->get_name() + " -d " +
            fishText(firstClause(command->get_description())) + "\n";
  for (const CLI::App *command : commandsOf(app)) {
    std::string begin = "complete -c cleave -n '__fish_seen_subcommand_from " + command->get_name() + "'";
    text += begin + fishValues(positionalValues(*command)) + "\n";
    for (const CLI::Option *option : rt::allOptions(*command)) {
      if (option->get_lnames().empty())
        continue;
      text += begin;
      for (const std::string &name : option->get_snames())
        text += " -s " + name;
      for (const std::string &name : option->get_lnames())
        text += " -l " + name;
      text += (takesValue(*option) ? " -r" + fishValues(valuesOf(*option)) : "") + " -d " +
              fishText(firstClause(option->get_description())) + "\n";
    }
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
  // "\:" lets a line end after each of the alternatives, which are longer than a line together.
  std::string text = ".TP\n.B " + troff(names.empty() ? option.get_name() : names);
  if (!names.empty() && takesValue(option))
    text += " \\fI" + replaceAll(troff(rt::HelpFormatter::valueForm(option)), "|", "|\\:") + "\\fR";
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
  std::string text =
      ".TH CLEAVE 1 \"\" \"" + troff(version) +
      "\" \"User Commands\"\n.SH NAME\ncleave \\- compile ONNX models into "
      "sharded execution plans\n.SH SYNOPSIS\n.B cleave\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n" +
      troff(app.get_description()) + "\n";
  for (const CLI::App *command : commandsOf(app)) {
    text += ".SH \"CLEAVE " + troff(CLI::detail::to_lower(command->get_name())) + "\"\n" +
            troff(command->get_description()) + ".\n";
    std::vector<std::string> groups; // in the order of their first options
    for (const CLI::Option *option : rt::allOptions(*command))
      if (std::find(groups.begin(), groups.end(), option->get_group()) == groups.end())
        groups.push_back(option->get_group());
    for (const std::string &group : groups) {
      if (groups.size() > 1)
        text += ".SS \"" + troff(group) + "\"\n";
      for (const CLI::Option *option : rt::allOptions(*command))
        if (option->get_group() == group)
          text += troffOption(*option);
    }
    if (!command->get_footer().empty())
      text += ".PP\n.nf\n" + troff(command->get_footer()) + "\n.fi\n";
  }
  return text +
         ".SH \"SEE ALSO\"\nThe guides in share/doc/cleave. A compiled program has its own help: ./model \\-\\-help.\n";
}

} // namespace cleave
