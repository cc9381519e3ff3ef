// `generate`: lets a language model continue a prompt, one token at a time.
//
// A token is a whole number below the size of the vocabulary. The model has an integer input [batch, context] and a
// floating-point output [batch, context, vocabulary]. It must be causal: its output at position i depends only on
// positions 0 to i. A trial run before the first token checks this. When the tokens no longer fit into the context, the
// first ones are left out.
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
  std::vector<std::string> fills; // INPUT=NUMBER or INPUT=positions: values of the other inputs
  uint64_t tokens = 200;
  std::string endTokens; // "2" or "2,</s>": generating ends after one of these; empty: none
  Sampling sampling;
  uint64_t seed = 0;
};

struct Prompt {
  bool isText = true; // the tokens are bytes, or those of the tokenizer
  std::vector<uint64_t> tokens;
  std::shared_ptr<const Tokenizer> tokenizer; // null: no tokenizer

  // Returns the text to print for a token after `before` others. Without a tokenizer, --prompt-ids prints numbers.
  std::string show(uint64_t token, size_t before) const;

private:
  // The index of the first token of the prompt that is not a special one.
  size_t firstShown() const;
};

// Error messages begin with the name of the option, as those of generate().
Status readPrompt(const GenerateOptions &options, Prompt *prompt);

// Calls `show` with each new token. The same options give the same tokens on every process.
Status generate(Session &session, const GenerateOptions &options, const Prompt &prompt,
                const std::function<void(uint64_t)> &show);

} // namespace cleave::rt

#endif
