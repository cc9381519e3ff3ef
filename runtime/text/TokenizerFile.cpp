// Reading a tokenizer.json. Each part that Cleave knows is read here; every other one is refused by its name.
#include "runtime/base/FileMapping.h"
#include "runtime/base/JsonDepth.h"
#include "runtime/base/JsonKeys.h"
#include "runtime/text/Tokenizer.h"
#include "runtime/base/Utf8.h"

#include <cctype>
#include <nlohmann/json.hpp>

namespace cleave::rt {

using nlohmann::json;

namespace {

// How ByteLevel splits text into words (GPT-2).
constexpr const char *kWords = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// A superset of the characters that NFC changes, or that it may join with those before them: marks, the vowels and
// finals of Hangul, and characters that stand for others.
constexpr const char *kUnnormalized =
    R"([\p{M}\x{374}\x{37E}\x{387}\x{958}-\x{95F}\x{9DC}-\x{9DF}\x{A33}\x{A36}\x{A59}-\x{A5B}\x{A5E}\x{B5C}\x{B5D})"
    R"(\x{F43}\x{F4D}\x{F52}\x{F57}\x{F5C}\x{F69}\x{1161}-\x{1175}\x{11A8}-\x{11C2}\x{1F71}\x{1F73}\x{1F75}\x{1F77})"
    R"(\x{1F79}\x{1F7B}\x{1F7D}\x{1FBB}\x{1FBE}\x{1FC9}\x{1FCB}\x{1FD3}\x{1FDB}\x{1FE3}\x{1FEB}\x{1FEE}\x{1FEF})"
    R"(\x{1FF9}\x{1FFB}\x{1FFD}\x{2000}\x{2001}\x{2126}\x{212A}\x{212B}\x{2329}\x{232A}\x{2ADC}\x{F900}-\x{FAD9})"
    R"(\x{FB1D}-\x{FB4E}\x{1D15E}-\x{1D164}\x{1D1BB}-\x{1D1C0}\x{2F800}-\x{2FA1D}])";

// Unicode's White_Space. PCRE2's \s has one character more, U+180E.
constexpr const char *kSpaces =
    R"(\t-\r\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

// The pattern with \s and \S as other libraries have them. Within brackets only \s can be spelled so.
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

// ByteLevel writes bytes as characters: printable ones of Latin-1 as they are, the others from U+0100 on.
std::map<uint32_t, char> bytesOfCharacters() {
  std::map<uint32_t, char> bytes;
  uint32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    bytes[printable ? byte : next++] = static_cast<char>(byte);
  }
  return bytes;
}

// Fractions and negative numbers are none, of which get<uint64_t>() would make others.
Status readId(const json &id, uint64_t *token) {
  if (!id.is_number_unsigned())
    return dataLoss(id.dump().substr(0, 40) + " is not the number of a token; expected a whole number from 0");
  *token = id.get<uint64_t>();
  return Status::ok();
}

std::string typeOf(const json &part) { return part.is_object() ? part.value("type", "") : ""; }

Status unsupported(const std::string &what) {
  return invalidArgument(what + " is not supported; Cleave reads byte-level BPE, as GPT-2, Llama 3 and Qwen have it. "
                                "Make the tokens with the model's own tokenizer, and give --prompt-ids");
}

} // namespace

class TokenizerFile {
public:
  TokenizerFile(const json &file, Tokenizer *result) : file_(file), result_(*result) {}

  Status read() {
    CLEAVE_TRY(readNormalizer(part(file_, "normalizer")));
    CLEAVE_TRY(readSplitting(part(file_, "pre_tokenizer")));
    if (!hasByteLevel_)
      return unsupported("the pre_tokenizer has no ByteLevel, which");
    CLEAVE_TRY(readModel(file_.at("model")));
    CLEAVE_TRY(readAddedTokens());
    return readSurroundings(part(file_, "post_processor"));
  }

private:
  static const json &part(const json &object, const char *name) {
    static const json null;
    auto found = object.find(name);
    return found == object.end() ? null : *found;
  }

  // What is written in the model's vocabulary, as bytes; nothing where it is no text of ByteLevel.
  std::optional<std::string> toBytes(const std::string &text) const {
    std::string bytes;
    for (size_t at = 0; at < text.size();) {
      Character c = characterAt(text, at);
      auto found = bytes_.find(c.code);
      if (c.bytes == 0 || found == bytes_.end())
        return std::nullopt;
      bytes += found->second;
      at += c.bytes;
    }
    return bytes;
  }

  Status readNormalizer(const json &normalizer) {
    if (normalizer.is_null())
      return Status::ok();
    std::string type = typeOf(normalizer);
    if (type == "Sequence") {
      for (const json &each : normalizer.at("normalizers"))
        CLEAVE_TRY(readNormalizer(each));
      return Status::ok();
    }
    if (type != "NFC")
      return unsupported("the normalizer '" + type + "'");
    result_.normalizes_ = true;
    return Regex::compile(kUnnormalized, &result_.unnormalized_);
  }

  Status readSplitting(const json &splitting) {
    std::string type = typeOf(splitting);
    if (hasByteLevel_)
      return unsupported("the pre_tokenizer '" + type + "' after ByteLevel");
    if (type == "Sequence") {
      for (const json &each : splitting.at("pretokenizers"))
        CLEAVE_TRY(readSplitting(each));
      return Status::ok();
    }
    if (type == "Digits")
      return split(splitting.value("individual_digits", false) ? "\\p{N}" : "\\p{N}+", false);
    if (type == "Split")
      return readSplit(splitting);
    if (type != "ByteLevel")
      return unsupported("the pre_tokenizer '" + type + "'");
    hasByteLevel_ = true;
    result_.addsSpace_ = splitting.value("add_prefix_space", true);
    if (result_.addsSpace_ && !result_.splitters_.empty())
      return unsupported("add_prefix_space after another pre_tokenizer");
    return splitting.value("use_regex", true) ? split(kWords, false) : Status::ok();
  }

  Status readSplit(const json &splitting) {
    std::string behavior = splitting.value("behavior", "");
    bool invert = splitting.value("invert", false);
    if (behavior != "Isolated" && !(behavior == "Removed" && invert))
      return unsupported("a Split whose behavior is '" + behavior + "'");
    const json &pattern = splitting.at("pattern");
    if (pattern.contains("Regex"))
      return split(pattern.at("Regex").get<std::string>(), behavior == "Removed");
    std::string literal = pattern.at("String").get<std::string>(), escaped;
    for (char c : literal)
      escaped += std::string(static_cast<unsigned char>(c) < 0x80 && !std::isalnum(c) ? "\\" : "") + c;
    return split(escaped, behavior == "Removed");
  }

  Status split(const std::string &pattern, bool onlyMatches) {
    Tokenizer::Splitter splitter;
    splitter.onlyMatches = onlyMatches;
    CLEAVE_TRY(Regex::compile(withSpaces(pattern), &splitter.pattern));
    result_.splitters_.push_back(std::move(splitter));
    return Status::ok();
  }

  Status readModel(const json &model) {
    std::string type = model.value("type", "BPE");
    if (type != "BPE")
      return unsupported("the model '" + type + "'");
    const json &dropout = part(model, "dropout");
    if (!dropout.is_null() && dropout.get<double>() != 0)
      return unsupported("a model with dropout");
    for (const char *name : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (const json &affix = part(model, name); affix.is_string() && !affix.get<std::string>().empty())
        return unsupported(std::string("a model with ") + name);
    result_.pairs_.setWholePieces(model.value("ignore_merges", false));
    for (const auto &[text, id] : model.at("vocab").items()) {
      uint64_t token = 0;
      CLEAVE_TRY(readId(id, &token));
      if (token >= BytePairs::kNone)
        return dataLoss("the token " + std::to_string(token) + " is not the number of a token");
      if (auto bytes = toBytes(text)) {
        result_.pairs_.addToken(*bytes, static_cast<BytePairs::Token>(token));
        if (!result_.texts_.emplace(token, *bytes).second)
          return dataLoss("two tokens have the number " + std::to_string(token) + "; the file is damaged");
      }
    }
    size_t number = 0;
    for (const json &merge : model.at("merges")) {
      std::string left, right;
      if (merge.is_array()) {
        left = merge.at(0).get<std::string>();
        right = merge.at(1).get<std::string>();
      } else {
        std::string both = merge.get<std::string>();
        size_t space = std::min(both.find(' '), both.size());
        left = both.substr(0, space);
        right = both.substr(std::min(space + 1, both.size()));
      }
      auto first = toBytes(left), second = toBytes(right);
      if (!first || !second || !result_.pairs_.addMerge(*first, *second))
        return dataLoss("merge " + std::to_string(number) + " joins texts that are not tokens; the file is damaged");
      ++number;
    }
    return Status::ok();
  }

  Status readAddedTokens() {
    for (const json &each : part(file_, "added_tokens")) {
      AddedToken token;
      CLEAVE_TRY(readId(each.at("id"), &token.id));
      token.content = each.at("content").get<std::string>();
      token.isSpecial = each.value("special", false);
      token.takesLeft = each.value("lstrip", false);
      token.takesRight = each.value("rstrip", false);
      token.isNormalized = each.value("normalized", !token.isSpecial);
      if (each.value("single_word", false))
        return unsupported("the added token '" + token.content + "' with single_word");
      if (token.content.empty())
        continue;
      result_.texts_[token.id] = token.isSpecial ? "" : token.content;
      result_.added_.push_back(std::move(token));
    }
    return Status::ok();
  }

  Status readSurroundings(const json &processor) {
    std::string type = typeOf(processor);
    if (processor.is_null() || type == "ByteLevel")
      return Status::ok();
    if (type == "Sequence") {
      for (const json &each : processor.at("processors"))
        CLEAVE_TRY(readSurroundings(each));
      return Status::ok();
    }
    if (type == "RobertaProcessing" || type == "BertProcessing") {
      uint64_t first = 0, last = 0;
      CLEAVE_TRY(readId(processor.at("cls").at(1), &first));
      CLEAVE_TRY(readId(processor.at("sep").at(1), &last));
      result_.before_.insert(result_.before_.begin(), first);
      result_.after_.push_back(last);
      return Status::ok();
    }
    if (type != "TemplateProcessing")
      return unsupported("the post_processor '" + type + "'");
    std::vector<uint64_t> before, after, *side = &before;
    for (const json &piece : processor.at("single")) {
      if (piece.contains("Sequence")) {
        side = &after;
        continue;
      }
      const json &ids =
          processor.at("special_tokens").at(piece.at("SpecialToken").at("id").get<std::string>()).at("ids");
      for (const json &id : ids)
        CLEAVE_TRY(readId(id, &side->emplace_back()));
    }
    result_.before_.insert(result_.before_.begin(), before.begin(), before.end());
    result_.after_.insert(result_.after_.end(), after.begin(), after.end());
    return Status::ok();
  }

  const json &file_;
  Tokenizer &result_;
  std::map<uint32_t, char> bytes_ = bytesOfCharacters();
  bool hasByteLevel_ = false;
};

Status Tokenizer::open(const std::string &path, Tokenizer *result) {
  FileMapping mapping;
  CLEAVE_TRY(FileMapping::open(path, &mapping));
  std::string_view text(reinterpret_cast<const char *>(mapping.data()), mapping.size());
  if (isJsonDeeper(text))
    return invalidArgument(path + ": brackets nest too deep for a tokenizer.json");
  RepeatedKeys keys;
  json file = json::parse(text, std::ref(keys), /*allow_exceptions=*/false);
  if (!file.is_object() || !file.contains("model") || !file["model"].is_object() || !file["model"].contains("vocab"))
    return invalidArgument(path + ": expected a tokenizer.json of Hugging Face, with a 'model' that has a 'vocab'");
  if (!keys.twice().empty())
    return dataLoss(path + ": an object in it has the key " + keys.twice() + " twice, so that it can be read in two ways");
  try {
    return TokenizerFile(file, result).read().in(path);
  } catch (const json::exception &error) {
    return dataLoss(path + ": not a tokenizer.json of Hugging Face: " + error.what());
  }
}

} // namespace cleave::rt
