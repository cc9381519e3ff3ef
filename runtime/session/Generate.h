// `generate`: what a language model writes after a prompt, one token at a time.
//
// A token is a whole number below the size of the vocabulary. The model has an integer input [batch, context] and a
// floating-point output [batch, context, vocabulary]. It must be causal: what stands at position i depends on positions
// 0 to i alone. That is tried out before the first token. What does not fit into the context any more falls off at its
// beginning.
//
//   --prompt "The "                                bytes, the tokens of a vocabulary of 256; bytes come out
//   --prompt-ids 464,995                           any vocabulary; numbers come out
//   --prompt "The " --tokenizer tokenizer.json     the vocabulary of that file; text comes out
#ifndef CLEAVE_RUNTIME_SESSION_GENERATE_H
#define CLEAVE_RUNTIME_SESSION_GENERATE_H

#include "runtime/session/Session.h"
#include "runtime/session/TokenSampler.h"
#include "runtime/text/Tokenizer.h"

#include <memory>
#include <optional>

namespace cleave::rt {

struct GenerateOptions {
  std::string input;  // empty: the only integer input [batch, context] that the output needs
  std::string output; // empty: the only output [batch, context, vocabulary]
  std::optional<std::string> prompt;
  std::string promptIds;          // "1,2,3", or "@FILE" with such numbers
  std::string tokenizer;          // a tokenizer.json; empty: none
  std::vector<std::string> fills; // INPUT=NUMBER or INPUT=positions: of inputs besides the tokens
  uint64_t tokens = 200;
  std::string endTokens; // "2" or "2,</s>": generating ends after one of these; empty: none
  Sampling sampling;
  uint64_t seed = 0;
};

struct Prompt {
  bool isText = true; // its tokens are bytes, or those of the tokenizer
  std::vector<uint64_t> tokens;
  std::shared_ptr<const Tokenizer> tokenizer; // may be null

  // What is printed for a token that comes after `before` others: text, or a number for --prompt-ids without tokenizer.
  std::string show(uint64_t token, size_t before) const;

private:
  // Where the first token of the prompt stands that is no special one.
  size_t firstShown() const;
};

// Messages begin with the option, as in generate().
Status readPrompt(const GenerateOptions &options, Prompt *prompt);

// Calls `show` with each token as it comes. The same options give the same tokens on every process.
Status generate(Session &session, const GenerateOptions &options, const Prompt &prompt,
                const std::function<void(uint64_t)> &show);

} // namespace cleave::rt

#endif
