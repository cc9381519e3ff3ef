// Reads a tokenizer.json: its parts (TokenizerParts.h), added tokens, and the tokens that the model needs around a
// text.
#pragma GCC diagnostic ignored "-Warray-bounds" // GCC 12 takes elements of maps in json's parser for map heads

#include "runtime/text/TokenizerParts.h"

#include "runtime/base/FileMapping.h"
#include "runtime/base/ForeignFile.h"
#include "runtime/base/JsonDepth.h"
#include "runtime/base/JsonKeys.h"
#include "runtime/text/Tokenizer.h"

namespace cleave::rt {

using nlohmann::json;

class TokenizerFile {
public:
  TokenizerFile(const json &file, Tokenizer *result) : file_(file), result_(*result) {}

  Status read() {
    Alphabet alphabet = Alphabet::Characters;
    CLEAVE_TRY(readNormalizer(partOf(file_, "normalizer"), &result_.normalizer_));
    CLEAVE_TRY(readSplitting(partOf(file_, "pre_tokenizer"), &result_.splitting_, &alphabet));
    CLEAVE_TRY(readModel(file_.at("model"), alphabet, &result_.model_, &result_.texts_));
    if (alphabet == Alphabet::Characters) {
      CLEAVE_TRY(decoding_.emplace().read(partOf(file_, "decoder")));
      for (auto &[token, text] : result_.texts_)
        CLEAVE_TRY(decoding_->textOf(std::string(text), &text));
      result_.spacesOfFirst_ = decoding_->spacesOfFirst();
    }
    CLEAVE_TRY(readAddedTokens());
    noteIgnored();
    return readSurroundings(partOf(file_, "post_processor"));
  }

private:
  // These settings are for training batches. A prompt is neither truncated nor padded.
  void noteIgnored() {
    for (const char *name : {"truncation", "padding"})
      if (!partOf(file_, name).is_null())
        result_.note_ += (result_.note_.empty() ? "" : " and ") + std::string(name);
    if (!result_.note_.empty())
      result_.note_ =
          "the file's settings of " + result_.note_ + " do not apply to a prompt, whose tokens are taken as they are";
  }

  Status readAddedTokens() {
    for (const json &each : partOf(file_, "added_tokens")) {
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
      std::string &text = result_.texts_[token.id] = token.isSpecial ? "" : token.content;
      if (decoding_ && !token.isSpecial)
        CLEAVE_TRY(decoding_->textOf(token.content, &text));
      result_.names_.emplace(token.content, token.id);
      if (token.isNormalized) // it is searched for in normalized text
        CLEAVE_TRY(result_.normalizer_.apply(&token.content));
      if (!token.content.empty())
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
  std::optional<Decoding> decoding_; // only for a vocabulary of characters
};

Status Tokenizer::open(const std::string &path, Tokenizer *result) {
  FileMapping mapping;
  CLEAVE_TRY(FileMapping::open(path, &mapping));
  std::string_view text(reinterpret_cast<const char *>(mapping.data()), mapping.size());
  FileFormat format = formatOf(text);
  if (format != FileFormat::Unknown && format != FileFormat::Json)
    return invalidArgument(path + ": this is " + describeFormat(format) +
                           "; expected a tokenizer.json of Hugging Face");
  if (isJsonDeeper(text))
    return invalidArgument(path + ": brackets nest too deep for a tokenizer.json");
  RepeatedKeys keys;
  json file = json::parse(text, std::ref(keys), /*allow_exceptions=*/false);
  if (file.is_discarded())
    return invalidArgument(path + ": this is not JSON; expected a tokenizer.json of Hugging Face, with a 'model' that has "
                                  "a 'vocab'");
  if (!file.is_object() || !file.contains("model") || !file["model"].is_object() || !file["model"].contains("vocab"))
    return invalidArgument(path + ": expected a tokenizer.json of Hugging Face, with a 'model' that has a 'vocab'");
  if (!keys.twice().empty())
    return dataLoss(path + ": an object in it has the key " + keys.twice() +
                    " twice, so that it can be read in two ways");
  try {
    return TokenizerFile(file, result).read().in(path);
  } catch (const json::exception &error) {
    std::string what = error.what(); // "[json.exception...] (/model/type) type must be string, but is number"
    size_t end = what.find("] ");
    return dataLoss(path + ": not a tokenizer.json of Hugging Face: " +
                    (end == std::string::npos ? what : what.substr(end + 2)));
  }
}

} // namespace cleave::rt
