// Turns text into tokens and back, by the `tokenizer.json` of a Hugging Face model.
//
//   text -> added tokens ("<|endoftext|>") cut out -> normalized -> split into words -> the model's tokens of each word
//
//   model       words                                               used by
//   BPE         bytes (BytePairs.h)                                 GPT-2, Llama 3, Qwen
//   BPE         characters, or bytes if one has no token            Llama 1 and 2, Mistral, Gemma
//   Unigram     characters (Unigram.h)                              T5, XLM-RoBERTa
//   WordPiece   characters (WordPieces.h)                           BERT
//
// A file with any other part is refused, and the message names the part. Otherwise the tokens would differ from those
// that the model was trained with, and the output would be nonsense without an error.
#ifndef CLEAVE_RUNTIME_TEXT_TOKENIZER_H
#define CLEAVE_RUNTIME_TEXT_TOKENIZER_H

#include "runtime/text/Normalizer.h"
#include "runtime/text/PieceModel.h"
#include "runtime/text/Splitting.h"

#include <map>
#include <memory>
#include <optional>

namespace cleave::rt {

// A token that is searched for in the text itself.
struct AddedToken {
  uint64_t id = 0;
  std::string content;
  bool isSpecial = false;    // not printed as text
  bool takesLeft = false;    // includes the white space before it
  bool takesRight = false;   // includes the white space after it
  bool isNormalized = false; // searched for after the others, in the normalized text
};

class Tokenizer {
public:
  // Fails with the name of the file, and with the part of it that is not supported.
  static Status open(const std::string &path, Tokenizer *result);
  // A note for the user: settings in the file that are for training and are not applied to a prompt. Empty if there are
  // none.
  const std::string &note() const { return note_; }

  // Returns the tokens of the text, with those that the model needs around it (such as "<|begin_of_text|>").
  Status encode(const std::string &text, std::vector<uint64_t> *tokens) const;
  // Returns the bytes of a token. A special token has none, and neither has a number that is no token. The first token
  // of a text may lose the space that words have before them.
  std::string bytesOf(uint64_t token, bool isFirst = false) const;
  std::optional<uint64_t> tokenOf(const std::string &content) const;

private:
  friend class TokenizerFile;

  struct Span {
    size_t begin, end;
    std::optional<uint64_t> token; // set if this is an added token
  };

  std::vector<Span> cutAdded(const std::string &text, bool normalized) const;
  Status encodePart(std::string text, bool isFirst, std::vector<uint64_t> *tokens) const;

  Normalizer normalizer_;
  std::vector<AddedToken> added_;
  std::map<std::string, uint64_t> names_; // of added tokens, by their text in the file
  Splitting splitting_;
  std::shared_ptr<const PieceModel> model_;
  std::vector<uint64_t> before_, after_;
  std::map<uint64_t, std::string> texts_;
  size_t spacesOfFirst_ = 0;
  std::string note_;
};

} // namespace cleave::rt

#endif
