// The form of every --help, for `cleave` and for its programs.
//
//   --batch-norm local|sync     Statistics that batch norm uses. Long texts are broken at the page's width, and the
//                               default comes last (default: local)
#ifndef CLEAVE_RUNTIME_MAIN_HELPFORMATTER_H
#define CLEAVE_RUNTIME_MAIN_HELPFORMATTER_H

#include <CLI/CLI.hpp>

#include <sstream>

namespace cleave::rt {

class HelpFormatter : public CLI::Formatter {
public:
  // "--no-shuffle" for CLI11's "--no-shuffle{false}".
  std::string make_option_name(const CLI::Option *option, bool isPositional) const override {
    std::string name = CLI::Formatter::make_option_name(option, isPositional);
    for (size_t begin; (begin = name.find('{')) != std::string::npos;)
      name.erase(begin, name.find('}', begin) + 1 - begin);
    return name;
  }

  // The text for the option's value. CLI11 appends checks to it: "TEXT:{a,b}" is printed as "a|b", "N:INT in [1 - 8]"
  // as "N".
  static std::string valueForm(const CLI::Option &option) {
    std::string type = option.get_type_name();
    if (size_t list = type.find(":{"); list != std::string::npos && type.back() == '}') {
      type = type.substr(list + 2, type.size() - list - 3);
      std::replace(type.begin(), type.end(), ',', '|');
    } else if (type.find(" in [") != std::string::npos) {
      type.resize(type.find(':'));
    }
    return type == "UINT" ? "N" : type == "FLOAT" ? "NUMBER" : type;
  }

  std::string make_option_opts(const CLI::Option *option) const override {
    if (option->get_type_size() == 0) // a switch
      return "";
    bool isRepeated = option->get_expected_max() == CLI::detail::expected_max_vector_size;
    return " " + valueForm(*option) + (isRepeated ? " ..." : "") + (option->get_required() ? " (required)" : "");
  }

  std::string make_option_desc(const CLI::Option *option) const override {
    std::string byDefault = option->get_default_str();
    std::string text = option->get_description(), separator = text.find('\n') == text.npos ? " " : "\n";
    return wrap(text + (byDefault.empty() ? "" : separator + "(default: " + byDefault + ")"));
  }

  // An option group, under its description: "One of these replaces the summary:".
  std::string make_expanded(const CLI::App *group) const override {
    if (!group->get_name().empty())
      return CLI::Formatter::make_expanded(group);
    return make_group(group->get_description(), false,
                      group->get_options([&](const CLI::Option *option) { return option != group->get_help_ptr(); }));
  }

private:
  static constexpr size_t kWidth = 90;

  // Breaks lines at blanks. Line ends in the text stay.
  static std::string wrap(const std::string &text) {
    std::string result, line;
    std::istringstream lines(text);
    while (std::getline(lines, line)) {
      result += result.empty() ? "" : "\n";
      size_t length = 0;
      std::istringstream words(line);
      for (std::string word; words >> word; length += word.size()) {
        if (length > 0)
          result += length + 1 + word.size() > kWidth ? "\n" : " ";
        length = length == 0 || length + 1 + word.size() > kWidth ? 0 : length + 1;
        result += word;
      }
    }
    return result;
  }
};

} // namespace cleave::rt

#endif
