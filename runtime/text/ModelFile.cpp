// Reads "model" of a tokenizer.json.
#include "runtime/base/Utf8.h"
#include "runtime/text/BytePairs.h"
#include "runtime/text/ByteTokens.h"
#include "runtime/text/TokenizerParts.h"
#include "runtime/text/Unigram.h"
#include "runtime/text/WordPieces.h"

#include <cmath>
#include <optional>

using nlohmann::json;

namespace cleave::rt {
namespace {

// ByteLevel writes bytes as characters. Printable characters of Latin-1 stand for themselves, and other bytes begin at
// U+0100.
std::map<uint32_t, char> bytesOfCharacters() {
  std::map<uint32_t, char> bytes;
  uint32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    bytes[printable ? byte : next++] = static_cast<char>(byte);
  }
  return bytes;
}

// Returns the bytes for a text of the vocabulary, or nothing if it is no text of ByteLevel.
std::optional<std::string> toBytes(const std::string &text, Alphabet alphabet) {
  static const std::map<uint32_t, char> kBytes = bytesOfCharacters();
  if (alphabet == Alphabet::Characters)
    return text;
  std::string bytes;
  for (size_t at = 0; at < text.size();) {
    Character c = characterAt(text, at);
    auto found = kBytes.find(c.code);
    if (c.bytes == 0 || found == kBytes.end())
      return std::nullopt;
    bytes += found->second;
    at += c.bytes;
  }
  return bytes;
}

Status addText(uint64_t token, const std::string &text, TokenTexts *texts) {
  return texts->emplace(token, text).second
             ? Status::ok()
             : dataLoss("two tokens have the number " + std::to_string(token) + "; the file is damaged");
}

// Returns the number of a token that the model names by its text. Returns nothing if `name` is null.
Status readNamed(const json &name, const json &vocabulary, std::optional<uint64_t> *token) {
  if (name.is_null())
    return Status::ok();
  auto found = vocabulary.find(name.get<std::string>());
  if (found == vocabulary.end())
    return dataLoss("the unk_token '" + name.get<std::string>() + "' is not in the vocabulary; the file is damaged");
  uint64_t id = 0;
  CLEAVE_TRY(readId(*found, &id));
  *token = id;
  return Status::ok();
}

Status readMerges(const json &merges, Alphabet alphabet, BytePairs *pairs) {
  size_t number = 0;
  for (const json &merge : merges) {
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
    auto first = toBytes(left, alphabet), second = toBytes(right, alphabet);
    if (!first || !second || !pairs->addMerge(*first, *second))
      return dataLoss("merge " + std::to_string(number) + " joins texts that are not tokens; the file is damaged");
    ++number;
  }
  return Status::ok();
}

Status readPairs(const json &model, Alphabet alphabet, std::shared_ptr<const PieceModel> *result, TokenTexts *texts) {
  const json &dropout = partOf(model, "dropout");
  if (!dropout.is_null() && dropout.get<double>() != 0)
    return unsupported("a model with dropout");
  for (const char *name : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (const json &affix = partOf(model, name); affix.is_string() && !affix.get<std::string>().empty())
      return unsupported(std::string("a model with ") + name);
  auto pairs = std::make_shared<BytePairs>();
  pairs->setWholePieces(model.value("ignore_merges", false));
  for (const auto &[text, id] : model.at("vocab").items()) {
    uint64_t token = 0;
    CLEAVE_TRY(readId(id, &token));
    if (token >= BytePairs::kNone)
      return dataLoss("the token " + std::to_string(token) + " is not the number of a token");
    if (auto bytes = toBytes(text, alphabet)) {
      pairs->addToken(*bytes, static_cast<BytePairs::Token>(token));
      CLEAVE_TRY(addText(token, *bytes, texts));
    }
  }
  if (alphabet == Alphabet::Characters) {
    std::optional<uint64_t> unknown;
    CLEAVE_TRY(readNamed(partOf(model, "unk_token"), model.at("vocab"), &unknown));
    pairs->useCharacters({unknown ? static_cast<BytePairs::Token>(*unknown) : BytePairs::kNone,
                          model.value("fuse_unk", false), model.value("byte_fallback", false)});
  }
  CLEAVE_TRY(readMerges(model.at("merges"), alphabet, pairs.get()));
  *result = std::move(pairs);
  return Status::ok();
}

Status readUnigram(const json &model, std::shared_ptr<const PieceModel> *result, TokenTexts *texts) {
  auto unigram = std::make_shared<Unigram>();
  uint64_t token = 0;
  for (const json &row : model.at("vocab")) {
    double score = row.at(1).get<double>();
    if (!std::isfinite(score))
      return dataLoss("the score of token " + std::to_string(token) + " is not a number; the file is damaged");
    unigram->addToken(row.at(0).get<std::string>(), token, score);
    CLEAVE_TRY(addText(token++, row.at(0).get<std::string>(), texts));
  }
  if (const json &unknown = partOf(model, "unk_id"); !unknown.is_null()) {
    uint64_t id = 0;
    CLEAVE_TRY(readId(unknown, &id));
    if (id >= token)
      return dataLoss("unk_id is " + std::to_string(id) + ", and there are " + std::to_string(token) +
                      " tokens; the file is damaged");
    unigram->setUnknown(id);
  }
  if (model.value("byte_fallback", false))
    unigram->useBytes();
  *result = std::move(unigram);
  return Status::ok();
}

Status readWordPieces(const json &model, std::shared_ptr<const PieceModel> *result, TokenTexts *texts) {
  auto words = std::make_shared<WordPieces>(model.value("continuing_subword_prefix", "##"),
                                            model.value("max_input_chars_per_word", uint64_t{100}));
  for (const auto &[text, id] : model.at("vocab").items()) {
    uint64_t token = 0;
    CLEAVE_TRY(readId(id, &token));
    words->addToken(text, token);
    CLEAVE_TRY(addText(token, text, texts));
  }
  if (std::string unknown = model.value("unk_token", "[UNK]"); !words->setUnknown(unknown))
    return dataLoss("the unk_token '" + unknown + "' is not in the vocabulary; the file is damaged");
  *result = std::move(words);
  return Status::ok();
}

} // namespace

Status readModel(const json &model, Alphabet alphabet, std::shared_ptr<const PieceModel> *result, TokenTexts *texts) {
  // Old files have no type. Then a vocabulary that is a list means Unigram, and merges mean BPE.
  std::string type = model.value("type", "");
  if (type.empty())
    type = model.at("vocab").is_array() ? "Unigram" : model.contains("merges") ? "BPE" : "WordPiece";
  if (type == "BPE")
    return readPairs(model, alphabet, result, texts);
  if (alphabet == Alphabet::Bytes)
    return unsupported("the model '" + type + "' after ByteLevel");
  if (type == "Unigram")
    return readUnigram(model, result, texts);
  return type == "WordPiece" ? readWordPieces(model, result, texts) : unsupported("the model '" + type + "'");
}

} // namespace cleave::rt
