#include "runtime/text/CharacterMap.h"

#include "runtime/text/Characters.h"

#include <cstring>

namespace cleave::rt {
namespace {

// Returns false if the text is not base64.
bool decode(const std::string &base64, std::string *bytes) {
  static const std::string kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t length = std::min(base64.find('='), base64.size());
  uint32_t bits = 0;
  unsigned count = 0;
  for (size_t i = 0; i < length; ++i) {
    size_t digit = kDigits.find(base64[i]);
    if (digit == std::string::npos)
      return false;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      *bytes += static_cast<char>(bits >> count & 0xFF);
    }
  }
  return base64.size() - length <= 2;
}

bool hasLeaf(uint32_t unit) { return unit >> 8 & 1; }
uint32_t valueOf(uint32_t unit) { return unit & 0x7FFFFFFF; }
uint32_t labelOf(uint32_t unit) { return unit & 0x800000FF; }
uint32_t offsetOf(uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }

} // namespace

Status CharacterMap::open(const std::string &base64, CharacterMap *result) {
  Status damaged = dataLoss("precompiled_charsmap is not a table of SentencePiece; the file is damaged");
  std::string bytes;
  uint32_t trie = 0;
  if (!decode(base64, &bytes) || bytes.size() < sizeof trie)
    return damaged;
  std::memcpy(&trie, bytes.data(), sizeof trie);
  if (trie % sizeof(uint32_t) != 0 || trie == 0 || trie > bytes.size() - sizeof trie)
    return damaged;
  result->units_.resize(trie / sizeof(uint32_t));
  std::memcpy(result->units_.data(), bytes.data() + sizeof trie, trie);
  result->replacements_ = bytes.substr(sizeof trie + trie);
  if (firstInvalid(result->replacements_) != result->replacements_.size())
    return damaged;
  return Regex::compile("\\X", &result->clusters_);
}

std::optional<std::string_view> CharacterMap::find(std::string_view text) const {
  size_t node = offsetOf(units_[0]);
  for (char c : text) {
    uint32_t byte = static_cast<unsigned char>(c);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || labelOf(units_[node]) != byte)
      return std::nullopt;
    uint32_t unit = units_[node];
    node ^= offsetOf(unit);
    if (hasLeaf(unit)) {
      if (node >= units_.size() || valueOf(units_[node]) >= replacements_.size())
        return std::nullopt;
      std::string_view found = std::string_view(replacements_).substr(valueOf(units_[node]));
      if (isContinuation(found[0])) // inside of a character: the file is damaged
        return std::nullopt;
      return found.substr(0, found.find('\0'));
    }
  }
  return std::nullopt;
}

Status CharacterMap::apply(std::string *text) const {
  std::string mapped;
  auto mapPart = [&](std::string_view part) {
    std::optional<std::string_view> found = find(part);
    mapped += found.value_or(part);
    return found.has_value();
  };
  CLEAVE_TRY(clusters_.forEachMatch(*text, [&](size_t begin, size_t end) {
    std::string_view cluster = std::string_view(*text).substr(begin, end - begin);
    // Longer clusters are looked up one character at a time, as tokenizers does.
    if (cluster.size() < 6 && find(cluster)) {
      mapPart(cluster);
      return;
    }
    for (size_t at = 0; at < cluster.size(); at += bytesAt(cluster, at))
      mapPart(cluster.substr(at, bytesAt(cluster, at)));
  }));
  *text = std::move(mapped);
  return Status::ok();
}

} // namespace cleave::rt
