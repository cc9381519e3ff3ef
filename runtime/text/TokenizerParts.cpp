#include "runtime/text/TokenizerParts.h"

#include <cctype>

using nlohmann::json;

namespace cleave::rt {
namespace {

// Unicode's White_Space. PCRE2's \s has one character more, U+180E.
constexpr const char *kSpaces =
    R"(\t-\r\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

// Returns the pattern with the \s and \S of other libraries. Within brackets only \s can be replaced.
std::string withSpaces(const std::string &pattern) {
  std::string result;
  bool inClass = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    bool escapes = pattern[i] == '\\' && i + 1 < pattern.size();
    char next = escapes ? pattern[i + 1] : 0;
    if (next == 's' || (next == 'S' && !inClass))
      result += inClass ? kSpaces : std::string(next == 's' ? "[" : "[^") + kSpaces + "]";
    else
      result += pattern.substr(i, escapes ? 2 : 1);
    i += escapes;
    inClass = !escapes && pattern[i] == '[' ? true : !escapes && pattern[i] == ']' ? false : inClass;
  }
  return result;
}

} // namespace

const json &partOf(const json &object, const char *name) {
  static const json null;
  auto found = object.find(name);
  return found == object.end() ? null : *found;
}

std::string typeOf(const json &part) { return part.is_object() ? part.value("type", "") : ""; }

// The JSON library gives the place only in its errors. So this asks for a binary value, which no text file has.
std::string placeOf(const json &part) {
  try {
    part.get_ref<const json::binary_t &>();
  } catch (const json::type_error &error) { // "[...] (PLACE) incompatible ..."
    std::string what = error.what();
    size_t begin = what.find("] (") + 3, end = what.rfind(") incompatible");
    if (end != std::string::npos && begin <= end)
      return what.substr(begin, end - begin);
  }
  return "";
}

Status readId(const json &id, uint64_t *token) {
  if (!id.is_number_unsigned())
    return dataLoss(placeOf(id) + ": " + id.dump().substr(0, 40) +
                    " is not the number of a token; expected a whole number from 0");
  *token = id.get<uint64_t>();
  return Status::ok();
}

Status unsupported(const std::string &what) {
  return invalidArgument(what +
                         " is not supported; Cleave reads BPE, Unigram and WordPiece in the forms of GPT-2, Llama, "
                         "Qwen, T5 and BERT. Make the tokens with the model's own tokenizer, and give --prompt-ids");
}

Status compilePattern(const std::string &pattern, Regex *result) { return Regex::compile(withSpaces(pattern), result); }

Status readPattern(const json &pattern, Regex *result) {
  if (pattern.contains("Regex"))
    return compilePattern(pattern.at("Regex").get<std::string>(), result);
  std::string literal = pattern.at("String").get<std::string>(), escaped;
  for (char c : literal)
    escaped += std::string(static_cast<unsigned char>(c) < 0x80 && !std::isalnum(c) ? "\\" : "") + c;
  return compilePattern(escaped, result);
}

} // namespace cleave::rt
