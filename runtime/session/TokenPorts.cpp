#include "runtime/session/TokenPorts.h"

#include "runtime/base/Assignment.h"
#include "runtime/base/NearestName.h"
#include "runtime/base/OptionText.h"
#include "runtime/session/OutputNeeds.h"
#include "runtime/state/ElementValue.h"
#include "runtime/state/FloatConversion.h"

#include <charconv>
#include <cmath>
#include <optional>

namespace cleave::rt {
namespace {

bool isInteger(const fb::Port &port) { return port.dtype() == fb::DType::i64 || port.dtype() == fb::DType::i32; }
bool isReal(const fb::Port &port) { return isFloating(elementType(port.dtype())); }

// True if a port has this many dimensions and none of them, including the batch, is 0.
bool hasElements(const fb::Port &port, size_t dimensions) {
  for (size_t i = 0; i < lengthOf(port.shape()); ++i)
    if (port.shape()->Get(i) <= 0)
      return false;
  return lengthOf(port.shape()) == dimensions;
}

bool isTokens(const fb::Port &port) { return isInteger(port) && hasElements(port, 2); }
bool isLogits(const fb::Port &port) { return isReal(port) && hasElements(port, 3); }

std::string namesOf(const std::vector<const fb::Port *> &ports) {
  std::string names;
  for (const fb::Port *port : ports)
    names += (names.empty() ? "" : ", ") + port->name()->str();
  return names;
}

// The words for the port that an option names: "the model has" an "output" "[batch, context, vocabulary]".
struct PortWords {
  std::string option, owner, verb, kind, form;
};

// Finds the port of `fitting` with this name; without a name, the only port. `words` describe a port that fits.
Status chooseOne(const std::vector<const fb::Port *> &fitting, const std::string &name, const PortWords &words,
                 const fb::Port **result) {
  for (const fb::Port *port : fitting)
    if (!name.empty() && textOf(port->name()) == name)
      *result = port;
  if (*result || (name.empty() && fitting.size() == 1))
    return *result = *result ? *result : fitting[0], Status::ok();
  std::string begin = words.owner + " " + words.verb + " ";
  if (!name.empty())
    return invalidArgument(words.option + ": " + begin + "no " + words.kind + " '" + name + "' " + words.form +
                           (fitting.empty() ? "" : "; it " + words.verb + ": " + namesOf(fitting)));
  return invalidArgument(fitting.empty() ? begin + "no " + words.kind + " " + words.form
                                         : words.option + ": " + begin + "more than one " + words.kind + " " +
                                               words.form + ": " + namesOf(fitting) + "; name the one to use");
}

size_t rowOf(const fb::Port &port) { return static_cast<size_t>(port.shape()->Get(lengthOf(port.shape()) - 1)); }

double lastPosition(const fb::Port &port) { return rowOf(port) == 0 ? 0 : static_cast<double>(rowOf(port) - 1); }

// True if the text is a whole number (1e3 too). `value` stays empty if the number needs more than 64 bits.
bool parseWhole(const std::string &text, std::optional<int64_t> *value) {
  int64_t exact = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exact);
  double real = 0;
  if (error == std::errc() && end == text.data() + text.size())
    *value = exact;
  else if (!parseReal(text, &real) || real != std::floor(real))
    return false;
  else if (real >= -0x1p63 && real < 0x1p63)
    *value = static_cast<int64_t>(real);
  return true;
}

// True if an element of the type can hold the value: an integer of its range exactly, a floating-point number as the
// nearest finite one.
bool isHeld(ElementType type, double value) {
  std::byte stored[sizeof(double)];
  storeElement(type, value, stored);
  return std::isfinite(loadElement(type, stored));
}
bool isHeld(ElementType type, std::optional<int64_t> whole) {
  std::byte stored[sizeof(double)];
  if (!whole || type == ElementType::boolean)
    return whole == 0 || whole == 1;
  storeInteger(type, *whole, stored);
  // Only types of 64 bits hold integers that a double does not hold exactly. Of these types, only u64 holds no negative
  // numbers.
  return loadElement(type, stored) == static_cast<double>(*whole);
}

// Rows follow each other, so the position in a row is the index modulo the row's length.
void fillPositions(const fb::Port &port, Bytes bytes) {
  ElementType type = elementType(port.dtype());
  size_t row = rowOf(port);
  for (size_t i = 0; i < bytes.size / elementSize(type); ++i)
    storeElement(type, static_cast<double>(i % row), bytes.data + i * elementSize(type));
}

void fillNumber(const fb::Port &port, Bytes bytes, double value, int64_t whole) {
  ElementType type = elementType(port.dtype());
  for (size_t i = 0; i < bytes.size / elementSize(type); ++i) {
    std::byte *target = bytes.data + i * elementSize(type);
    isFloating(type) ? storeElement(type, value, target) : storeInteger(type, whole, target);
  }
}

} // namespace

Status TokenPorts::choose(const fb::Plan &plan, const fb::Program &program, const GenerateOptions &options,
                          TokenPorts *result) {
  std::vector<const fb::Port *> outputs;
  for (size_t i = 0; i < lengthOf(program.outputs()); ++i)
    if (const fb::Port *port = program.outputs()->Get(i); isLogits(*port))
      outputs.push_back(port);
  // Inputs are checked first, so that the message for a model without tokens says so.
  bool hasTokens = false;
  for (size_t i = 0; i < lengthOf(program.inputs()); ++i)
    hasTokens |= isTokens(*program.inputs()->Get(i));
  if (!hasTokens)
    return invalidArgument("the model has no integer input [batch, context], so it cannot generate tokens; "
                           "infer computes its outputs");
  CLEAVE_TRY(
      chooseOne(outputs, options.output,
                {"--output", "the model", "has", "output", "[batch, context, vocabulary] of floating-point numbers"},
                &result->logits_));
  for (const std::string &text : options.fills)
    CLEAVE_TRY(result->addFill(program, text, options.input));
  CLEAVE_TRY(result->chooseTokens(plan, program, options.input));
  CLEAVE_TRY(result->checkRanges(plan));
  result->ranges_ = IndexRange::ofInput(plan, *result->tokens_);
  return result->checkFills(plan, program);
}

bool TokenPorts::isFilled(const fb::Port &port) const {
  for (const Fill &fill : fills_)
    if (fill.input == &port)
      return true;
  return false;
}

Status TokenPorts::chooseTokens(const fb::Plan &plan, const fb::Program &program, const std::string &name) {
  std::vector<const fb::Port *> fitting, filled;
  for (size_t i = 0; i < lengthOf(program.inputs()); ++i) {
    const fb::Port *port = program.inputs()->Get(i);
    if (isTokens(*port) && static_cast<size_t>(port->shape()->Get(1)) == context() && dependsOn(plan, *logits_, *port))
      (isFilled(*port) ? filled : fitting).push_back(port);
  }
  if (fitting.empty() && !filled.empty() && name.empty())
    return invalidArgument("--fill: no input is left for the tokens; leave out the one that holds them: " +
                           namesOf(filled));
  return chooseOne(fitting, name,
                   {"--input", "output " + logits_->name()->str(), "depends on", "integer input",
                    "[batch, " + std::to_string(context()) + "]"},
                   &tokens_);
}

Status TokenPorts::addFill(const fb::Program &program, const std::string &text, const std::string &input) {
  std::string name, value;
  if (!splitAssignment(text, &name, &value) || name.empty())
    return invalidArgument("--fill: expected INPUT=NUMBER or INPUT=positions; got: " + text);
  Fill fill{nullptr, value == "positions", 0};
  std::optional<int64_t> whole;
  std::vector<std::string> names;
  for (size_t i = 0; i < lengthOf(program.inputs()); ++i) {
    names.emplace_back(textOf(program.inputs()->Get(i)->name()));
    if (names.back() == name)
      fill.input = program.inputs()->Get(i);
  }
  if (!fill.input)
    return invalidArgument("--fill: the model has no input '" + name + "'; its inputs are " + joinNames(names));
  if (name == input)
    return invalidArgument("--fill: input '" + name + "' holds the tokens; --input names another one");
  if (isFilled(*fill.input))
    return invalidArgument("--fill: input '" + name + "' is filled twice");
  bool isGood = fill.isPositions      ? lengthOf(fill.input->shape()) > 0
                : isReal(*fill.input) ? parseReal(value, &fill.value)
                                      : parseWhole(value, &whole);
  if (!isGood)
    return invalidArgument("--fill: '" + value + "' is no value for input '" + name +
                           "'; expected a number of its type, or positions");
  ElementType type = elementType(fill.input->dtype());
  if (fill.isPositions)
    whole = static_cast<int64_t>(fill.value = lastPosition(*fill.input));
  fill.whole = whole.value_or(0);
  if (!(isReal(*fill.input) ? isHeld(type, fill.value) : isHeld(type, whole)))
    return invalidArgument(
        "--fill: " + (fill.isPositions ? "position " + realText(lastPosition(*fill.input)) : "'" + value + "'") +
        " does not fit into input '" + name + "', which is " + elementName(type));
  fills_.push_back(fill);
  return Status::ok();
}

Status TokenPorts::checkRanges(const fb::Plan &plan) const {
  uint64_t element = 0;
  for (const Fill &fill : fills_) {
    ElementType type = elementType(fill.input->dtype());
    size_t count = fill.isPositions ? rowOf(*fill.input) : 1;
    std::vector<std::byte> row(count * elementSize(type));
    Bytes bytes{row.data(), row.size()};
    fill.isPositions ? fillPositions(*fill.input, bytes) : fillNumber(*fill.input, bytes, fill.value, fill.whole);
    for (const IndexRange &range : IndexRange::ofInput(plan, *fill.input))
      CLEAVE_TRY(range.check(*fill.input, bytes, &element).in("--fill"));
  }
  return Status::ok();
}

Status TokenPorts::checkFills(const fb::Plan &plan, const fb::Program &program) const {
  for (size_t i = 0; i < lengthOf(program.inputs()); ++i) {
    const fb::Port *port = program.inputs()->Get(i);
    if (port != tokens_ && dependsOn(plan, *logits_, *port) && !isFilled(*port))
      return invalidArgument("--fill: output " + logits_->name()->str() + " also depends on input '" +
                             port->name()->str() + "'; give what it holds, as in --fill " + port->name()->str() +
                             "=1 (ones, for a mask) or --fill " + port->name()->str() + "=positions (0, 1, 2, ...)");
  }
  return Status::ok();
}

Status TokenPorts::fill(Rank &rank, const uint64_t *tokens, size_t count, uint64_t filler) const {
  for (const Fill &fill : fills_)
    if (Bytes bytes = rank.portBytes(*fill.input, 0); bytes.data) // else only another kind of ranks reads it
      fill.isPositions ? fillPositions(*fill.input, bytes) : fillNumber(*fill.input, bytes, fill.value, fill.whole);
  Bytes bytes = rank.portBytes(*tokens_, 0);
  if (!bytes.data)
    return Status::ok();
  ElementType type = elementType(tokens_->dtype());
  for (size_t i = 0; i < bytes.size / elementSize(type); ++i) {
    size_t place = i % context();
    storeInteger(type, static_cast<int64_t>(place < count ? tokens[place] : filler),
                 bytes.data + i * elementSize(type));
  }
  uint64_t element = 0;
  for (const IndexRange &range : ranges_)
    CLEAVE_TRY(range.check(*tokens_, bytes, &element));
  return Status::ok();
}

std::vector<double> TokenPorts::read(Bytes output, size_t position) const {
  ElementType type = elementType(logits_->dtype());
  const std::byte *row = output.data + position * vocabulary() * elementSize(type);
  std::vector<double> result(vocabulary());
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = loadElement(type, row + i * elementSize(type));
  return result;
}

} // namespace cleave::rt
