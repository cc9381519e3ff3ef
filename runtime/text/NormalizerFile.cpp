// Reads "normalizer" of a tokenizer.json.
#include "runtime/base/Utf8.h"
#include "runtime/text/CharacterMap.h"
#include "runtime/text/Characters.h"
#include "runtime/text/Replace.h"
#include "runtime/text/TokenizerParts.h"

#include <algorithm>

using nlohmann::json;

namespace cleave::rt {
namespace {

// A superset of the characters that NFC changes, or may join with the characters before them: marks, vowels and finals
// of Hangul, and characters that stand for other ones.
constexpr const char *kUnnormalized =
    R"([\p{M}\x{374}\x{37E}\x{387}\x{958}-\x{95F}\x{9DC}-\x{9DF}\x{A33}\x{A36}\x{A59}-\x{A5B}\x{A5E}\x{B5C}\x{B5D})"
    R"(\x{F43}\x{F4D}\x{F52}\x{F57}\x{F5C}\x{F69}\x{1161}-\x{1175}\x{11A8}-\x{11C2}\x{1F71}\x{1F73}\x{1F75}\x{1F77})"
    R"(\x{1F79}\x{1F7B}\x{1F7D}\x{1FBB}\x{1FBE}\x{1FC9}\x{1FCB}\x{1FD3}\x{1FDB}\x{1FE3}\x{1FEB}\x{1FEE}\x{1FEF})"
    R"(\x{1FF9}\x{1FFB}\x{1FFD}\x{2000}\x{2001}\x{2126}\x{212A}\x{212B}\x{2329}\x{232A}\x{2ADC}\x{F900}-\x{FAD9})"
    R"(\x{FB1D}-\x{FB4E}\x{1D15E}-\x{1D164}\x{1D1BB}-\x{1D1C0}\x{2F800}-\x{2FA1D}])";
// Characters, and their neighbours, that have other properties in the library: it knows categories of Unicode 8, and
// small letters of a later version than Cleave's tables. Text with such a character is refused.
constexpr const char *kOfOtherVersions =
    R"([\x{61D}\x{7FD}\x{890}-\x{891}\x{898}-\x{89F}\x{8CA}-\x{8E2}\x{9FD}-\x{9FE}\x{A76}\x{AFA}-\x{AFF}\x{B55})"
    R"(\x{C04}\x{C3C}\x{C77}\x{C84}\x{D00}\x{D3B}-\x{D3C}\x{D81}\x{EBA}\x{166D}\x{1734}\x{180F}\x{1885}-\x{1886})"
    R"(\x{1ABF}-\x{1ACE}\x{1B7D}-\x{1B7E}\x{1C89}\x{1DF6}-\x{1DFB}\x{2E43}-\x{2E4F}\x{2E52}-\x{2E5D})"
    R"(\x{A7CB}-\x{A7DC}\x{A82C}\x{A8C5}\x{A8FF}\x{A9BD}\x{10D24}-\x{10D27}\x{10D50}-\x{10D65})"
    R"(\x{10EAB}-\x{10EAD}\x{10F46}-\x{10F59}\x{10F82}-\x{10F89}\x{11070}-\x{11074}\x{110C2}\x{110CD})"
    R"(\x{111C9}-\x{111CF}\x{1123E}\x{1133B}\x{11438}-\x{1144F}\x{1145A}-\x{1145E}\x{11660}-\x{1166C}\x{116B9})"
    R"(\x{1182F}-\x{1183B}\x{11938}-\x{11946}\x{119D4}-\x{119E2}\x{11A01}-\x{11A0A}\x{11A33}-\x{11A47})"
    R"(\x{11A51}-\x{11A5B}\x{11A8A}-\x{11AA2}\x{11C30}-\x{11C45}\x{11C70}-\x{11C71}\x{11C92}-\x{11CB6})"
    R"(\x{11D31}-\x{11D47}\x{11D90}-\x{11D97}\x{11EF3}-\x{11EF8}\x{11FFF}\x{12FF1}-\x{12FF2}\x{13430}-\x{13438})"
    R"(\x{16E97}-\x{16EB8}\x{16F4F}\x{16FE2}-\x{16FE4}\x{1CF00}-\x{1CF46}\x{1E000}-\x{1E02A}\x{1E130}-\x{1E136})"
    R"(\x{1E2AE}\x{1E2EC}-\x{1E2EF}\x{1E944}-\x{1E94A}\x{1E95E}-\x{1E95F}])";
// Ideographs that the decomposition replaces by others. Characters.h has no table of them.
constexpr const char *kCompatibilityIdeographs = R"([\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}])";

Normalizer::Rule always(void (*change)(std::string *)) {
  return [=](std::string *text) {
    change(text);
    return Status::ok();
  };
}

Status refuseMatches(const Regex &pattern, const char *form, const std::string &text) {
  bool changes = false;
  CLEAVE_TRY(pattern.forEachMatch(text, [&](size_t, size_t) { changes = true; }));
  return !changes ? Status::ok()
                  : invalidArgument(
                        std::string("the tokenizer normalizes text (") + form +
                        "), and Cleave does not normalize the characters of this one; make the tokens elsewhere, "
                        "and give --prompt-ids");
}

Status replaceMatches(const Regex &pattern, const std::string &content, std::string *text) {
  std::string result;
  size_t done = 0;
  CLEAVE_TRY(pattern.forEachMatch(*text, [&](size_t begin, size_t end) {
    if (result.size() <= kMostNormalizedBytes) // else it fails below
      result.append(*text, done, begin - done).append(content);
    done = end;
  }));
  CLEAVE_TRY(checkNormalizedLength(result.size()));
  *text = result + text->substr(done);
  return Status::ok();
}

Status addReplacement(const std::string &pattern, const std::string &content, Normalizer *result) {
  Regex regex;
  CLEAVE_TRY(compilePattern(pattern, &regex));
  result->add([=](std::string *text) { return replaceMatches(regex, content, text); });
  return Status::ok();
}

Status addRefusal(const char *pattern, const char *form, Normalizer *result) {
  Regex regex;
  CLEAVE_TRY(Regex::compile(pattern, &regex));
  result->add([=](std::string *text) { return refuseMatches(regex, form, *text); });
  return Status::ok();
}

Status addWithoutMarks(Normalizer *result) {
  CLEAVE_TRY(addRefusal(kCompatibilityIdeographs, "NFD", result));
  result->add(always(decomposeWithoutMarks));
  return addReplacement(R"(\p{Mn}+)", "", result);
}

// Adds BERT's steps, in this order: remove control characters, make spaces alike and add them around ideographs, remove
// accents, make letters small.
Status addBert(const json &normalizer, Normalizer *result) {
  bool makesSmall = normalizer.value("lowercase", true);
  const json &strips = partOf(normalizer, "strip_accents");
  CLEAVE_TRY(addRefusal(kOfOtherVersions, "BertNormalizer", result));
  if (normalizer.value("clean_text", true)) {
    CLEAVE_TRY(addReplacement(R"((?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\x{FFFD}])", "", result));
    CLEAVE_TRY(addReplacement(R"(\s)", " ", result));
  }
  if (normalizer.value("handle_chinese_chars", true))
    result->add([](std::string *text) {
      auto isIdeograph = [](uint32_t c) {
        constexpr std::pair<uint32_t, uint32_t> kRanges[] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF},
                                                             {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
                                                             {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
        return std::any_of(std::begin(kRanges), std::end(kRanges),
                           [=](const auto &range) { return c >= range.first && c <= range.second; });
      };
      std::string spaced;
      for (size_t at = 0; at < text->size();) {
        Character c = characterAt(*text, at);
        std::string_view part = std::string_view(*text).substr(at, bytesAt(*text, at));
        spaced += isIdeograph(c.code) ? " " + std::string(part) + " " : std::string(part);
        at += part.size();
      }
      *text = std::move(spaced);
      return Status::ok();
    });
  if (strips.is_null() ? makesSmall : strips.get<bool>())
    CLEAVE_TRY(addWithoutMarks(result));
  if (makesSmall)
    result->add(always(makeSmall));
  return Status::ok();
}

Status addStrip(const json &normalizer, Normalizer *result) {
  if (normalizer.value("strip_left", true))
    CLEAVE_TRY(addReplacement(R"(\A\s+)", "", result));
  return normalizer.value("strip_right", true) ? addReplacement(R"(\s+\z)", "", result) : Status::ok();
}

Status addCharacterMap(const json &normalizer, Normalizer *result) {
  const json &table = partOf(normalizer, "precompiled_charsmap");
  if (!table.is_string() || table.get<std::string>().empty())
    return Status::ok();
  auto map = std::make_shared<CharacterMap>();
  CLEAVE_TRY(CharacterMap::open(table.get<std::string>(), map.get()));
  result->add([=](std::string *text) { return map->apply(text); });
  return Status::ok();
}

} // namespace

Status readNormalizer(const json &normalizer, Normalizer *result) {
  if (normalizer.is_null())
    return Status::ok();
  std::string type = typeOf(normalizer);
  if (type == "Sequence") {
    for (const json &each : normalizer.at("normalizers"))
      CLEAVE_TRY(readNormalizer(each, result));
    return Status::ok();
  }
  if (type == "NFC")
    return addRefusal(kUnnormalized, "NFC", result); // refuses text that NFC would change, or might
  if (type == "BertNormalizer")
    return addBert(normalizer, result);
  if (type == "Precompiled")
    return addCharacterMap(normalizer, result);
  if (type == "Strip")
    return addStrip(normalizer, result);
  if (type == "Lowercase") {
    CLEAVE_TRY(addRefusal(kOfOtherVersions, "Lowercase", result));
    result->add(always(makeSmall));
    return Status::ok();
  }
  if (type == "Prepend") {
    std::string before = normalizer.at("prepend").get<std::string>();
    result->add([=](std::string *text) {
      *text = text->empty() ? "" : before + *text;
      return Status::ok();
    });
    return Status::ok();
  }
  if (type == "Replace") {
    Regex pattern;
    CLEAVE_TRY(readPattern(normalizer.at("pattern"), &pattern));
    std::string content = normalizer.at("content").get<std::string>();
    result->add([=](std::string *text) { return replaceMatches(pattern, content, text); });
    return Status::ok();
  }
  return unsupported("the normalizer '" + type + "'");
}

} // namespace cleave::rt
