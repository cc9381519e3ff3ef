// Text to tokens and back, by the `tokenizer.json` of a Hugging Face model.
//
//   text -> added tokens ("<|endoftext|>") cut out -> normalized -> split into words -> the model's tokens of each word
//
//   model       words                                               as
//   BPE         bytes (BytePairs.h)                                 GPT-2, Llama 3, Qwen
//   BPE         characters, bytes where there is no token of one    Llama 1 and 2, Mistral, Gemma
//   Unigram     characters (Unigram.h)                              T5, XLM-RoBERTa
//   WordPiece   characters (WordPieces.h)                           BERT
//
// A file with another part is refused with the name of that part: other tokens than the model was trained with would
// give nonsense, silently.
#ifndef CLEAVE_RUNTIME_TEXT_TOKENIZER_H
#define CLEAVE_RUNTIME_TEXT_TOKENIZER_H

#include "runtime/text/Normalizer.h"
#include "runtime/text/PieceModel.h"
#include "runtime/text/Splitting.h"

#include <map>
#include <memory>
#include <optional>

namespace cleave::rt {

// A token that is looked for in the text itself.
struct AddedToken {
  uint64_t id = 0;
  std::string content;
  bool isSpecial = false;    // not shown in text
  bool takesLeft = false;    // the white space before it belongs to it
  bool takesRight = false;   // that after it does
  bool isNormalized = false; // looked for after the others, in the normalized text
};

class Tokenizer {
public:
  // Errors name the file, and what in it is not supported.
  static Status open(const std::string &path, Tokenizer *result);
  // For the user, of settings in the file that are for training and not applied to a prompt; empty where there are none.
  const std::string &note() const { return note_; }

  // The tokens of the text, with those that the model wants around it (as "<|begin_of_text|>").
  Status encode(const std::string &text, std::vector<uint64_t> *tokens) const;
  // The bytes of a token: none for a special token, and none for a number that is no token. The first token of a text
  // may lose the space that words have before them.
  std::string bytesOf(uint64_t token, bool isFirst = false) const;
  std::optional<uint64_t> tokenOf(const std::string &content) const;

private:
  friend class TokenizerFile;

  struct Span {
    size_t begin, end;
    std::optional<uint64_t> token; // of an added token
  };

  std::vector<Span> cutAdded(const std::string &text, bool normalized) const;
  Status encodePart(std::string text, bool isFirst, std::vector<uint64_t> *tokens) const;

  Normalizer normalizer_;
  std::vector<AddedToken> added_;
  std::map<std::string, uint64_t> names_; // of added tokens, by what is written in the file
  Splitting splitting_;
  std::shared_ptr<const PieceModel> model_;
  std::vector<uint64_t> before_, after_;
  std::map<uint64_t, std::string> texts_;
  size_t spacesOfFirst_ = 0;
  std::string note_;
};

} // namespace cleave::rt

#endif
