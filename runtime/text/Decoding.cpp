// Reads "decoder" of a tokenizer.json, for a vocabulary of characters.
#include "runtime/text/ByteTokens.h"
#include "runtime/text/Replace.h"
#include "runtime/text/TokenizerParts.h"

using nlohmann::json;

namespace cleave::rt {

Status Decoding::read(const json &decoder) {
  std::string type = typeOf(decoder);
  if (type == "Sequence") {
    for (const json &each : decoder.at("decoders"))
      CLEAVE_TRY(read(each));
    return Status::ok();
  }
  if (type == "Fuse") {
    hasFuse_ = true;
    return Status::ok();
  }
  if (type == "ByteFallback") {
    hasBytes_ = true;
    return Status::ok();
  }
  if (type == "Replace") {
    if (!decoder.at("pattern").contains("String") || hasFuse_)
      return unsupported("a decoder that replaces a regular expression, or in the whole text,");
    std::string from = decoder.at("pattern").at("String").get<std::string>();
    if (from.empty())
      return unsupported("a decoder that replaces the empty text");
    replacements_.emplace_back(from, decoder.at("content").get<std::string>());
    return Status::ok();
  }
  if (type == "Strip" && hasFuse_ && decoder.at("content").get<std::string>() == " " &&
      decoder.at("stop").get<size_t>() == 0) {
    spacesOfFirst_ = decoder.at("start").get<size_t>();
    return Status::ok();
  }
  if (type == "Metaspace") {
    replacements_.emplace_back(decoder.value("replacement", "\u2581"), " ");
    bool adds = decoder.value("add_prefix_space", true);
    spacesOfFirst_ = decoder.value("prepend_scheme", adds ? "always" : "never") == "never" ? 0 : SIZE_MAX;
    return replacements_.back().first.empty() ? unsupported("a Metaspace without a replacement") : Status::ok();
  }
  if (type == "WordPiece" || decoder.is_null()) { // without a decoder, tokens are words
    hasWords_ = true;
    wordPrefix_ = decoder.is_null() ? "" : decoder.value("prefix", "##");
    cleansUp_ = !decoder.is_null() && decoder.value("cleanup", true);
    spacesOfFirst_ = 1;
    return Status::ok();
  }
  return unsupported("the decoder '" + type + "'");
}

Status Decoding::textOf(const std::string &token, std::string *text) const {
  if (std::optional<char> byte = hasBytes_ ? byteOfName(token) : std::nullopt) {
    text->assign(1, *byte);
    return Status::ok();
  }
  *text = token;
  for (const auto &[from, to] : replacements_) { // each may make the text of the one before longer
    CLEAVE_TRY(checkNormalizedLength(replacedLength(from, to, *text)));
    replaceAll(from, to, text);
  }
  if (!hasWords_)
    return Status::ok();
  bool isSign = cleansUp_ && !text->empty() && std::string(".?!,").find((*text)[0]) != std::string::npos;
  if (!wordPrefix_.empty() && text->compare(0, wordPrefix_.size(), wordPrefix_) == 0)
    text->erase(0, wordPrefix_.size());
  else if (!isSign)
    text->insert(0, " ");
  return Status::ok();
}

} // namespace cleave::rt
