#include "runtime/text/Tokenizer.h"
#include "runtime/base/Utf8.h"
#include "test/runtime/TempDir.h"

#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace cleave::rt;
using cleave::test::TempDir;
using nlohmann::json;

namespace {

const std::string recorded = CLEAVE_TEST_SOURCE_DIR "/runtime/text/Inputs/recorded/";
const char *const families[] = {"gpt2",    "roberta", "digits", "llama3",        "qwen", "gpt4o",     "llama2",
                                "mistral", "gemma",   "t5",     "unigram-lower", "bert", "bert-cased"};

json read(const std::string &path) {
  std::ifstream file(path);
  return json::parse(file);
}

std::string errorOf(const TempDir &dir, const json &file) {
  Tokenizer tokenizer;
  Status status = Tokenizer::open(dir.write("tokenizer.json", file.dump()), &tokenizer);
  return status.message();
}

std::string textOf(const Tokenizer &tokenizer, const std::vector<uint64_t> &tokens) {
  std::string text;
  bool isFirst = true;
  for (uint64_t token : tokens) {
    text += tokenizer.bytesOf(token, isFirst);
    isFirst &= tokenizer.bytesOf(token).empty();
  }
  return text;
}

// Inputs/tokenizers_of_families.py wrote the files, with the tokens of Hugging Face's library.
TEST(Tokenizer, GivesTheTokensOfTheLibrary) {
  for (const std::string family : families) {
    Tokenizer tokenizer;
    Status opened = Tokenizer::open(recorded + family + ".json", &tokenizer);
    ASSERT_TRUE(opened.isOk()) << opened.message();
    size_t count = 0;
    for (const json &each : read(recorded + family + ".expected.json")) {
      std::string text = each.at("text").get<std::string>();
      std::vector<uint64_t> tokens;
      Status encoded = tokenizer.encode(text, &tokens);
      ASSERT_TRUE(encoded.isOk()) << family << ": " << text << ": " << encoded.message();
      EXPECT_EQ(tokens, each.at("tokens").get<std::vector<uint64_t>>()) << family << ": " << text;
      std::string decoded = each.at("decoded").get<std::string>(); // empty if the library's text is not UTF-8
      EXPECT_TRUE(decoded.empty() || textOf(tokenizer, tokens) == decoded)
          << family << ": " << textOf(tokenizer, tokens);
      ++count;
    }
    EXPECT_GE(count, 25u) << family;
  }
}

// If no token is special and none removes white space, the bytes of the tokens are the text.
TEST(Tokenizer, BytesOfTheTokensAreTheText) {
  for (const std::string family : {"gpt2", "llama3", "gpt4o"}) {
    Tokenizer tokenizer;
    ASSERT_TRUE(Tokenizer::open(recorded + family + ".json", &tokenizer).isOk());
    unsigned compared = 0;
    for (const json &each : read(recorded + family + ".expected.json")) {
      std::string text = each.at("text").get<std::string>(), bytes;
      if (text.find("<|endoftext|>") != std::string::npos || text.find("<s>") != std::string::npos)
        continue;
      for (uint64_t token : each.at("tokens"))
        bytes += tokenizer.bytesOf(token);
      EXPECT_EQ(bytes, text) << family;
      ++compared;
    }
    EXPECT_GE(compared, 20u) << family;
  }
}

TEST(Tokenizer, RefusesWhatItDoesNotKnow) {
  TempDir dir;
  json file = read(recorded + "llama3.json");
  struct Change {
    json value;
    const char *path, *message;
  };
  const Change changes[] = {
      {"Unigram", "/model/type", "the model 'Unigram' after ByteLevel is not supported"},
      {"Odd", "/model/type", "the model 'Odd' after ByteLevel is not supported"},
      {0.1, "/model/dropout", "a model with dropout is not supported"},
      {"</w>", "/model/end_of_word_suffix", "a model with end_of_word_suffix is not supported"},
      {{{"type", "NFKC"}}, "/normalizer", "the normalizer 'NFKC' is not supported"},
      {{{"type", "Metaspace"}}, "/pre_tokenizer", "the decoder 'ByteLevel' is not supported"},
      {{{"type", "Odd"}}, "/pre_tokenizer", "the pre_tokenizer 'Odd' is not supported"},
      {nullptr, "/pre_tokenizer", "the decoder 'ByteLevel' is not supported"},
      {"Contiguous", "/pre_tokenizer/pretokenizers/0/behavior", "a Split whose behavior is 'Contiguous'"},
      {"(", "/pre_tokenizer/pretokenizers/0/pattern/Regex", "the regular expression '(' cannot be read"},
      {{{"type", "Odd"}}, "/post_processor", "the post_processor 'Odd' is not supported"},
      {true, "/added_tokens/0/single_word", "with single_word is not supported"},
      {{"a", "zz"}, "/model/merges/3", "merge 3 joins texts that are not tokens"},
      {-1, "/model/vocab/!", "/model/vocab/!: -1 is not the number of a token"},
      {json::array(), "/model/vocab", "is not the number of a token"},
      {"x", "/added_tokens/1/id", "/added_tokens/1/id: \"x\" is not the number of a token"},
      {7, "/added_tokens/1/content", "(/added_tokens/1/content) type must be string, but is number"},
      {json::object(), "/added_tokens/1", "(/added_tokens/1) key 'id' not found"},
      {{7, 8}, "/model/merges/2", "(/model/merges/2/0) type must be string, but is number"},
      {"yes", "/pre_tokenizer/pretokenizers/0/invert", "(/pre_tokenizer/pretokenizers/0/invert) type must be boolean"},
      {7, "/model", "expected a tokenizer.json of Hugging Face"},
  };
  for (const Change &change : changes) {
    json other = file;
    other[json::json_pointer(change.path)] = change.value;
    std::string message = errorOf(dir, other);
    bool found = message.find(change.message) != std::string::npos;
    // An array for the vocabulary has no tokens at all.
    EXPECT_TRUE(found || std::string(change.path) == "/model/vocab") << change.path << ": " << message;
    EXPECT_FALSE(message.empty()) << change.path;
    EXPECT_NE(message.find("tokenizer.json: "), std::string::npos) << message;
  }
}

// Settings for training batches do not truncate or pad a prompt, and a note says so.
TEST(Tokenizer, TruncationAndPaddingAreTold) {
  TempDir dir;
  auto noteOf = [&](const char *key, const json &value, const char *other) {
    json file = read(recorded + "gpt2.json");
    file[other] = nullptr;
    file[key] = value;
    Tokenizer tokenizer;
    EXPECT_TRUE(Tokenizer::open(dir.write("tokenizer.json", file.dump()), &tokenizer).isOk());
    std::vector<uint64_t> tokens;
    EXPECT_TRUE(tokenizer.encode("one two three four five", &tokens).isOk());
    EXPECT_GT(tokens.size(), 2u);
    EXPECT_LT(tokens.size(), 40u);
    return tokenizer.note();
  };
  json cut = {{"direction", "Right"}, {"max_length", 2}, {"strategy", "LongestFirst"}, {"stride", 0}};
  json fill = {{"strategy", {{"Fixed", 40}}}, {"direction", "Right"}, {"pad_id", 0}, {"pad_token", "x"}};
  const std::string rest = " do not apply to a prompt, whose tokens are taken as they are";
  EXPECT_EQ(noteOf("truncation", cut, "padding"), "the file's settings of truncation" + rest);
  EXPECT_EQ(noteOf("padding", fill, "truncation"), "the file's settings of padding" + rest);
  EXPECT_EQ(noteOf("padding", nullptr, "truncation"), "");
}

// Rules that multiply a text end in an error, and not in all memory: one after the other, and a single one.
TEST(Tokenizer, MultipliedTextHasABound) {
  TempDir dir;
  json twice = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
  json once = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(1 << 20, 'a')}};
  auto encode = [&](const json &normalizers, const std::string &text) {
    json file = read(recorded + "t5.json");
    file["normalizer"] = {{"type", "Sequence"}, {"normalizers", normalizers}};
    file["added_tokens"] = json::array();
    Tokenizer tokenizer;
    Status status = Tokenizer::open(dir.write("tokenizer.json", file.dump()), &tokenizer);
    std::vector<uint64_t> tokens;
    return (status.isOk() ? tokenizer.encode(text, &tokens) : status).message();
  };
  EXPECT_NE(encode(json(40, twice), "a b").find("rules make the text longer than 16 MiB"), std::string::npos);
  EXPECT_NE(encode(json::array({once}), std::string(1 << 14, 'a')).find("longer than 16 MiB"), std::string::npos);
  EXPECT_EQ(encode(json(3, twice), "a b"), "");
  json file = read(recorded + "llama2.json");
  file["decoder"] = {{"type", "Sequence"}, {"decoders", json(40, twice)}};
  EXPECT_NE(errorOf(dir, file).find("longer than 16 MiB"), std::string::npos);
}

TEST(Tokenizer, RefusesModelsThatNameWhatIsNotThere) {
  TempDir dir;
  struct Change {
    const char *family, *path;
    json value;
    const char *message;
  };
  const Change changes[] = {
      {"t5", "/model/unk_id", 100000, "unk_id is 100000, and there are"},
      {"t5", "/model/vocab/5/1", nullptr,
       "not a tokenizer.json of Hugging Face: (/model/vocab/5/1) type must be number"},
      {"t5", "/normalizer/normalizers/0/precompiled_charsmap", "AAAA", "precompiled_charsmap is not a table"},
      {"t5", "/normalizer/normalizers/0/precompiled_charsmap", "A%==", "precompiled_charsmap is not a table"},
      {"t5", "/decoder/type", "CTC", "the decoder 'CTC' is not supported"},
      {"t5", "/pre_tokenizer/pretokenizers/1/prepend_scheme", "last", "a Metaspace with the prepend_scheme 'last'"},
      {"bert", "/model/unk_token", "[NONE]", "the unk_token '[NONE]' is not in the vocabulary"},
      {"llama2", "/model/unk_token", "<none>", "the unk_token '<none>' is not in the vocabulary"},
      {"bert", "/model/type", "Odd", "the model 'Odd' is not supported"},
      {"t5",
       "/pre_tokenizer",
       {{"type", "Split"}, {"behavior", "Isolated"}, {"pattern", {{"Regex", "\\C"}}}},
       "the regular expression '\\C' cannot be read"},
      {"bert",
       "/normalizer",
       {{"type", "Replace"}, {"content", "x"}, {"pattern", {{"Regex", "\\C"}}}},
       "the regular expression '\\C' cannot be read"},
      {"llama2",
       "/normalizer",
       {{"type", "Replace"}, {"content", ""}, {"pattern", {{"Regex", "a\\C"}}}},
       "the regular expression 'a\\C' cannot be read"},
      {"llama2", "/decoder/decoders/0/pattern", {{"Regex", "a"}}, "a decoder that replaces a regular expression"},
      {"llama2", "/decoder/decoders/2/type", "ByteFallback", "the decoder 'Strip' is not supported"},
      {"mistral",
       "/pre_tokenizer",
       {{"type", "Sequence"},
        {"pretokenizers", {{{"type", "WhitespaceSplit"}}, {{"type", "Metaspace"}, {"prepend_scheme", "first"}}}}},
       "a Metaspace with the prepend_scheme 'first' after another pre_tokenizer"},
  };
  for (const Change &change : changes) {
    json file = read(recorded + change.family + ".json");
    file[json::json_pointer(change.path)] = change.value;
    std::string message = errorOf(dir, file);
    EXPECT_NE(message.find(change.message), std::string::npos) << change.path << ": " << message;
  }
}

TEST(Tokenizer, CharacterMapsOfAnyBytesAreHandled) {
  TempDir dir;
  json file = read(recorded + "t5.json");
  json::json_pointer place("/normalizer/normalizers/0/precompiled_charsmap");
  const std::string table = file[place].get<std::string>(),
                    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnop0123456789+/";
  size_t taken = 0;
  for (size_t at = 0; at < table.size(); at += 29)
    for (char digit : {digits[at % digits.size()], digits[at * 7 % digits.size()]}) {
      std::string changed = table;
      changed[at] = digit;
      file[place] = changed;
      Tokenizer tokenizer;
      if (!Tokenizer::open(dir.write("tokenizer.json", file.dump()), &tokenizer).isOk())
        continue;
      ++taken;
      std::vector<uint64_t> tokens;
      EXPECT_TRUE(tokenizer.encode("\u3000e\u0301 \u2167 \ufb01\u2026 abc", &tokens).isOk());
    }
  EXPECT_GT(taken, 5u);
}

// The space before the first word of a text is not printed. The spaces before the other words are.
TEST(Tokenizer, TextOfTokensBeginsWithItsFirstWord) {
  for (const std::string family : {"llama2", "t5", "bert"}) {
    Tokenizer tokenizer;
    ASSERT_TRUE(Tokenizer::open(recorded + family + ".json", &tokenizer).isOk());
    std::vector<uint64_t> tokens;
    ASSERT_TRUE(tokenizer.encode("ranks step the", &tokens).isOk());
    EXPECT_EQ(textOf(tokenizer, tokens), "ranks step the") << family;
  }
}

// Each value of a file is replaced by values of other types. The result is an error or a tokenizer, and never a crash.
json shortened(const std::string &family) {
  json file = read(recorded + family + ".json"), &model = file["model"];
  if (model["vocab"].is_array())
    model["vocab"] = {{"<unk>", 0}, {"a", -1}, {"b", -1.5}, {"ab", -2}, {"\u2581", -3}};
  else
    model["vocab"] = {{"a", 0}, {"b", 1}, {"ab", 2}, {"[UNK]", 3}, {"<unk>", 4}, {"##b", 5}};
  if (model.contains("merges"))
    model["merges"] = {"a b"};
  return file;
}

TEST(Tokenizer, HostileFilesAreHandled) {
  TempDir dir;
  size_t tried = 0;
  for (const char *family : {"roberta", "llama2", "t5", "bert"}) {
    json file = shortened(family);
    const json flat = file.flatten();
    for (const auto &[path, value] : flat.items())
      for (const json &other :
           {json(), json(-1), json(1e30), json("x"), json::array({1}), json::object({{"type", 3}})}) {
        json changed = file;
        changed[json::json_pointer(path)] = other;
        Tokenizer tokenizer;
        if (Tokenizer::open(dir.write("tokenizer.json", changed.dump()), &tokenizer).isOk()) {
          std::vector<uint64_t> tokens;
          (void)tokenizer.encode("abab <mask> a", &tokens).isOk();
        }
        ++tried;
      }
  }
  EXPECT_GT(tried, 800u);
  std::string deep(100000, '[');
  Tokenizer tokenizer;
  EXPECT_NE(Tokenizer::open(dir.write("deep.json", deep), &tokenizer).message().find("nest too deep"),
            std::string::npos);
  EXPECT_NE(Tokenizer::open(dir.write("none.json", ""), &tokenizer).message().find("expected a tokenizer.json"),
            std::string::npos);
  EXPECT_FALSE(Tokenizer::open(dir / "absent.json", &tokenizer).isOk());
}

TEST(Tokenizer, TextThatCannotBeEncodedIsTold) {
  Tokenizer tokenizer;
  std::vector<uint64_t> tokens;
  ASSERT_TRUE(Tokenizer::open(recorded + "qwen.json", &tokenizer).isOk());
  EXPECT_NE(tokenizer.encode("e\u0301", &tokens).message().find("normalizes text (NFC)"), std::string::npos);
  EXPECT_EQ(tokenizer.encode("ab\xff", &tokens).message(), "the text is not UTF-8: byte 2 begins no character");
}

TEST(Utf8, KnowsWhatIsACharacter) {
  for (const std::string wrong :
       {"\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xC3"})
    EXPECT_EQ(firstInvalid("a" + wrong), 1u);
  for (uint32_t code : {0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    std::string text;
    appendCharacter(code, &text);
    EXPECT_EQ(characterAt(text, 0).code, code);
    EXPECT_EQ(characterAt(text, 0).bytes, text.size());
  }
}

} // namespace
