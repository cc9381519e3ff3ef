// Text to tokens and back, by the `tokenizer.json` of a Hugging Face model: byte-level byte-pair encoding, as GPT-2,
// Llama 3, Qwen and most models since have it.
//
//   text -> added tokens ("<|endoftext|>") cut out -> split into words -> bytes -> byte-pair encoding -> tokens
//
// A file with anything else in it (WordPiece, Unigram, SentencePiece's spaces) is refused with the name of that part:
// other tokens than the model was trained with would give nonsense, silently.
#ifndef CLEAVE_RUNTIME_TEXT_TOKENIZER_H
#define CLEAVE_RUNTIME_TEXT_TOKENIZER_H

#include "runtime/text/BytePairs.h"
#include "runtime/text/Regex.h"

#include <map>
#include <optional>

namespace cleave::rt {

// A token that is looked for in the text itself.
struct AddedToken {
  uint64_t id = 0;
  std::string content;
  bool isSpecial = false;    // not shown in text
  bool takesLeft = false;    // the white space before it belongs to it
  bool takesRight = false;   // that after it does
  bool isNormalized = false; // looked for after the others
};

class Tokenizer {
public:
  // Errors name the file, and what in it is not supported.
  static Status open(const std::string &path, Tokenizer *result);

  // The tokens of the text, with those that the model wants around it (as "<|begin_of_text|>").
  Status encode(const std::string &text, std::vector<uint64_t> *tokens) const;
  // The bytes of a token: none for a special token, and none for a number that is no token.
  const std::string &bytesOf(uint64_t token) const;
  std::optional<uint64_t> tokenOf(const std::string &content) const;

private:
  friend class TokenizerFile;

  // One rule of splitting: pieces are the matches and, unless `onlyMatches`, what lies between them.
  struct Splitter {
    Regex pattern;
    bool onlyMatches = false;
  };
  struct Span {
    size_t begin, end;
    std::optional<uint64_t> token; // of an added token
  };

  void cutAdded(const std::string &text, bool normalized, std::vector<Span> *spans) const;
  Status encodePart(std::string_view text, std::vector<uint64_t> *tokens) const;

  BytePairs pairs_;
  std::vector<AddedToken> added_;
  std::vector<Splitter> splitters_;
  Regex unnormalized_; // characters of which NFC may make others
  bool normalizes_ = false, addsSpace_ = false;
  std::vector<uint64_t> before_, after_;
  std::map<uint64_t, std::string> texts_;
};

} // namespace cleave::rt

#endif
