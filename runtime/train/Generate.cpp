#include "runtime/train/Generate.h"

#include "runtime/base/NumberRange.h"
#include "runtime/base/Philox.h"
#include "runtime/state/ElementValue.h"
#include "runtime/train/DataSpec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace cleave::rt {
namespace {

constexpr int64_t kBytes = 256;
using Logits = std::array<double, kBytes>;

bool isInteger(const fb::Port &port) { return port.dtype() == fb::DType::i64 || port.dtype() == fb::DType::i32; }
bool isTokens(const fb::Port &port) {
  return isInteger(port) && lengthOf(port.shape()) == 2 && port.shape()->Get(1) > 0;
}

bool isLogits(const fb::Port &port, int64_t context) {
  return !isInteger(port) && lengthOf(port.shape()) == 3 && port.shape()->Get(1) == context &&
         port.shape()->Get(2) == kBytes;
}

// The ports that the options name, or the only ones that fit.
Status findPorts(const fb::Program &program, const GenerateOptions &options, const fb::Port **tokens,
                 const fb::Port **logits) {
  for (size_t i = 0; i < lengthOf(program.inputs()); ++i) {
    const fb::Port *port = program.inputs()->Get(i);
    if (isTokens(*port) && (options.input.empty() || textOf(port->name()) == options.input) && !*tokens)
      *tokens = port;
  }
  if (!*tokens)
    return invalidArgument(options.input.empty()
                               ? "the model has no integer input [batch, context]"
                               : "--input " + options.input + " is not an integer input [batch, context] of the model");
  int64_t context = (*tokens)->shape()->Get(1);
  for (size_t i = 0; i < lengthOf(program.outputs()); ++i) {
    const fb::Port *port = program.outputs()->Get(i);
    if (isLogits(*port, context) && (options.output.empty() || textOf(port->name()) == options.output) && !*logits)
      *logits = port;
  }
  if (!*logits)
    return invalidArgument("the model has no floating-point output [batch, " + std::to_string(context) +
                           ", 256]; only byte-level language models can generate");
  return Status::ok();
}

class Generator {
public:
  Generator(Session &session, const fb::Program &program, const fb::Port &tokens, const fb::Port &logits)
      : session_(session), program_(program), tokens_(tokens), logits_(logits),
        context_(static_cast<size_t>(tokens.shape()->Get(1))) {}

  // What the model says at the last byte of `text`; unused positions hold `filler`.
  Status predict(const std::string &text, uint8_t filler, Logits *result) {
    size_t used = std::min(text.size(), context_);
    const char *window = text.data() + text.size() - used;
    CLEAVE_TRY(session_.forEach([&](unsigned, Rank &rank) {
      if (Bytes tokens = rank.portBytes(tokens_, 0); tokens.data) // else another kind of ranks reads them
        fill(tokens, window, used, filler);
      return rank.run(program_);
    }));
    for (unsigned local = 0; local < session_.localRanks(); ++local)
      if (Bytes logits = session_.rank(local).portBytes(logits_, 0); logits.data)
        read(logits, used - 1, result);
    return session_.hasEverywhere(logits_) ? Status::ok()
                                           : session_.share(reinterpret_cast<std::byte *>(result->data()),
                                                            sizeof *result, session_.firstRankWith(logits_));
  }

  // A model that looks ahead answers differently when only later positions change.
  Status checkCausal() {
    if (context_ < 2)
      return Status::ok();
    std::string text(context_ / 2, 'a');
    Logits first, second;
    CLEAVE_TRY(predict(text, 0, &first));
    CLEAVE_TRY(predict(text, 'z', &second));
    if (first == second)
      return Status::ok();
    return invalidArgument("the model is not causal: its answer at a position depends on later ones, so it cannot "
                           "generate");
  }

private:
  void read(Bytes port, size_t position, Logits *result) const {
    ElementType type = elementType(logits_.dtype());
    const std::byte *row = port.data + position * kBytes * elementSize(type);
    for (size_t i = 0; i < kBytes; ++i)
      (*result)[i] = loadElement(type, row + i * elementSize(type));
  }

  void fill(Bytes port, const char *window, size_t used, uint8_t filler) const {
    ElementType type = elementType(tokens_.dtype());
    size_t width = elementSize(type);
    for (size_t i = 0; i < port.size / width; ++i) {
      size_t place = i % context_;
      uint8_t byte = place < used ? static_cast<uint8_t>(window[place]) : filler;
      storeInteger(type, byte, port.data + i * width);
    }
  }

  Session &session_;
  const fb::Program &program_;
  const fb::Port &tokens_;
  const fb::Port &logits_;
  size_t context_;
};

// Draws from softmax(logits / temperature); `uniform` in [0, 1).
uint8_t drawByte(const Logits &logits, double temperature, double uniform) {
  auto likeliest = std::max_element(logits.begin(), logits.end());
  if (temperature == 0)
    return static_cast<uint8_t>(likeliest - logits.begin());
  Logits weights;
  double sum = 0;
  for (size_t i = 0; i < kBytes; ++i)
    sum += weights[i] = std::exp((logits[i] - *likeliest) / temperature);
  double rest = uniform * sum;
  for (size_t i = 0; i < kBytes; ++i)
    if ((rest -= weights[i]) < 0)
      return static_cast<uint8_t>(i);
  return static_cast<uint8_t>(likeliest - logits.begin());
}

} // namespace

Status generate(Session &session, const GenerateOptions &options, const std::function<void(char)> &show) {
  const fb::Program *program = nullptr;
  const fb::Port *tokens = nullptr, *logits = nullptr;
  CLEAVE_TRY(session.entry("infer", &program));
  CLEAVE_TRY(findPorts(*program, options, &tokens, &logits));
  if (options.prompt.empty())
    return invalidArgument("--prompt is empty; give at least one byte to begin with");
  if (!isNumberFrom(options.temperature, 0))
    return invalidArgument("--temperature: expected a number from 0 (in f32); got: " + realText(options.temperature));
  Generator generator(session, *program, *tokens, *logits);
  CLEAVE_TRY(generator.checkCausal());
  std::string text = options.prompt;
  for (uint64_t i = 0; i < options.bytes; ++i) {
    Logits prediction;
    CLEAVE_TRY(generator.predict(text, 0, &prediction));
    Philox4 bits = philox4x32({static_cast<uint32_t>(options.seed), static_cast<uint32_t>(options.seed >> 32)},
                              {static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), 0, 0});
    char next = static_cast<char>(drawByte(prediction, options.temperature, philoxUniform(bits[0])));
    text.push_back(next);
    show(next);
  }
  return Status::ok();
}

} // namespace cleave::rt
