#include "runtime/train/data/DataSpec.h"

#include "runtime/base/Assignment.h"
#include "runtime/base/NearestName.h"
#include "runtime/base/NumberRange.h"
#include "runtime/base/OptionKeys.h"
#include "runtime/base/OptionText.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace cleave::rt {
namespace {

const std::string kKeys[] = {"window", "shift", "stride", "key", "mean", "std"};

bool isKey(const std::string &text) { return std::find(std::begin(kKeys), std::end(kKeys), text) != std::end(kKeys); }

bool parseList(std::string_view text, std::vector<double> *values) {
  for (const std::string &item : splitText(text, '/')) {
    double value = 0;
    if (!parseReal(item, &value) || !isNumberOfF32(value))
      return false;
    values->push_back(value);
  }
  return true;
}

Status parseOption(const std::string &key, const std::string &value, DataSpec *spec) {
  bool good = true;
  if (key == "window")
    good = parseUnsigned(value, &spec->window) && spec->window != 0;
  else if (key == "shift")
    good = parseUnsigned(value, &spec->shift);
  else if (key == "stride")
    good = parseUnsigned(value, &spec->stride) && spec->stride != 0;
  else if (key == "key")
    spec->key = value;
  else if (key == "mean")
    good = parseList(value, &spec->mean);
  else if (key == "std")
    good = parseList(value, &spec->std);
  else
    return invalidArgument("unknown key '" + key + "'; expected one of " +
                           joinNames({std::begin(kKeys), std::end(kKeys)}) +
                           ", or a backslash before a comma or = that belongs to a file's name");
  return good ? Status::ok()
              : invalidArgument("'" + value + "' is not a value for " + key + "; expected " +
                                (key == "mean" || key == "std"
                                     ? "a number, or one for each channel as in 0.48/0.45/0.40; each "
                                       "is 0, or between 1.2e-38 and 3.4e38 in size, the range of f32"
                                 : key == "shift" ? "a whole number from 0"
                                                  : "a whole number from 1"));
}

bool isPlain(std::string_view text, size_t at) {
  size_t slashes = 0;
  while (slashes < at && text[at - slashes - 1] == '\\')
    ++slashes;
  return slashes % 2 == 0;
}

// Refuses "tokens.bin:i16". A file of this name would have no ending by which it can be read, either.
Status checkStreamType(const std::string &item) {
  size_t colon = item.rfind(':');
  if (colon == std::string::npos || colon == 0 || !isPlain(item, colon))
    return Status::ok();
  std::string type = item.substr(colon + 1);
  size_t digits = std::min(type.find_first_of("0123456789"), type.size());
  static const std::string kKinds[] = {"i", "u", "f", "int", "uint", "float", "bf", "bfloat"};
  static const std::string kBits[] = {"8", "16", "32", "64"};
  std::string kind = withoutCase(type.substr(0, digits)), bits = type.substr(digits);
  if (std::find(std::begin(kKinds), std::end(kKinds), kind) == std::end(kKinds) ||
      std::find(std::begin(kBits), std::end(kBits), bits) == std::end(kBits))
    return Status::ok();
  std::string text = type + " is no type of a flat stream; expected u8, u16 or u32";
  std::string right = item.substr(0, colon) + ":u" + bits;
  if (kind[0] == 'u' && bits != "64")
    text += "; did you mean " + right + "?";
  else if (kind[0] == 'i' && bits != "64")
    text += "; numbers that are not negative have the same bytes as u" + bits + ": write " + right;
  return invalidArgument(text);
}

// A name that ends in ":u8" is a flat stream ("text.bin:u8"). A colon elsewhere, or after a backslash, belongs to the
// name.
Status addFile(std::string item, DataSpec *spec) {
  static constexpr std::pair<const char *, ElementType> kStreams[] = {
      {":u8", ElementType::u8}, {":u16", ElementType::u16}, {":u32", ElementType::u32}};
  std::optional<ElementType> stream;
  for (const auto &[suffix, type] : kStreams) {
    std::string_view ending(suffix);
    size_t colon = item.size() > ending.size() ? item.size() - ending.size() : 0;
    if (colon != 0 && item.compare(colon, ending.size(), ending) == 0 && isPlain(item, colon)) {
      stream = type;
      item.resize(item.size() - ending.size());
    }
  }
  if (!stream)
    CLEAVE_TRY(checkStreamType(item));
  if (!spec->files.empty() && stream != spec->stream)
    return invalidArgument("'" + item + "' is not of the same kind as '" + spec->files[0] +
                           "'; write the same :u8, :u16 or :u32 after each file of a stream");
  spec->stream = stream;
  spec->files.push_back(withoutEscapes(item));
  return Status::ok();
}

Status checkSpec(const DataSpec &spec) {
  if (spec.files.empty())
    return invalidArgument("no file is named; write INPUT=FILE, as in x=images.npy");
  for (const std::string &file : spec.files)
    for (const char *ending : {".npy", ".npz", ".safetensors"})
      if (spec.stream && endsWith(file, ending))
        return invalidArgument(
            "'" + file + "' is a file of arrays by its name; :u8, :u16 and :u32 are for flat streams; leave them out");
  if (spec.stream && spec.window == 0)
    return invalidArgument("a flat stream needs window=N, the number of elements of a sample");
  if (!spec.stream && (spec.window || spec.shift || spec.stride))
    return invalidArgument("window, shift and stride belong to flat streams; write FILE:u8, FILE:u16 or FILE:u32");
  for (const std::string &file : spec.files)
    if (!spec.key.empty() && (spec.stream || endsWith(file, ".npy")))
      return invalidArgument("key names an array of an .npz archive or a tensor of a safetensors file, and '" + file +
                             "' is neither; leave out key");
  if (spec.mean.size() != spec.std.size() && spec.mean.size() > 1 && spec.std.size() > 1)
    return invalidArgument("mean has " + std::to_string(spec.mean.size()) + " values and std has " +
                           std::to_string(spec.std.size()) +
                           "; give each one value for each channel, or a single one for all of them");
  for (double value : spec.std)
    if (!(value > 0))
      return invalidArgument("std must be positive: values are divided by it");
  return Status::ok();
}

// Inputs are often given in one option by mistake, as in --data x=x.npy,labels=y.npy.
Status checkKey(const std::string &text, size_t begin, const std::string &key, const DataInputs &inputs) {
  bool isInput = std::find(inputs.names.begin(), inputs.names.end(), key) != inputs.names.end();
  if (!isInput || isKey(key))
    return Status::ok();
  return invalidArgument("'" + key +
                         "' is an input of the model; give each input an option of its own: " + inputs.option + " " +
                         text.substr(0, begin - 1) + " " + inputs.option + " " + text.substr(begin));
}

Status parse(const std::string &text, size_t equals, const DataInputs &inputs, DataSpec *spec) {
  OptionKeys keys;
  for (size_t begin = equals + 1, end = 0; end != text.size(); begin = end + 1) {
    end = std::min(findPlain(text, ',', begin), text.size());
    std::string item = text.substr(begin, end - begin);
    if (item.empty() && begin == equals + 1 && end == text.size())
      break; // checkSpec() reports that no file is named
    if (item.empty())
      return invalidArgument("there is nothing between two commas, or after the last one; remove the comma");
    size_t at = findPlain(item, '=');
    if (at == std::string::npos && isKey(item))
      return invalidArgument("'" + item + "' is a key without a value; write " + item +
                             (item == "key" ? "=NAME" : "=NUMBER"));
    if (at == std::string::npos)
      CLEAVE_TRY(addFile(item, spec));
    else if (!keys.add(item.substr(0, at)))
      return invalidArgument(item.substr(0, at) + " is given twice");
    else {
      CLEAVE_TRY(checkKey(text, begin, item.substr(0, at), inputs));
      CLEAVE_TRY(parseOption(item.substr(0, at), withoutEscapes(item.substr(at + 1)), spec));
    }
  }
  return checkSpec(*spec);
}

} // namespace

Status parseDataSpec(const std::string &text, DataSpec *result, const DataInputs &inputs) {
  size_t equals = findPlain(text, '=');
  if (equals == std::string::npos || equals == 0)
    return invalidArgument("'" + text + "': expected INPUT=FILE[,FILE...][,key=value...]");
  DataSpec spec;
  spec.input = withoutEscapes(text.substr(0, equals));
  CLEAVE_TRY(parse(text, equals, inputs, &spec).in("'" + text + "'"));
  *result = std::move(spec);
  return Status::ok();
}

namespace {

// If the text cannot be parsed, it is returned as it is. The error is reported when the data are opened.
std::string withoutFiles(const std::string &text) {
  DataSpec spec;
  if (!parseDataSpec(text, &spec).isOk())
    return text;
  std::string rest = spec.input + (spec.stream ? ":" + std::string(elementName(*spec.stream)) : "");
  rest += spec.key.empty() ? "" : ",key=" + spec.key;
  std::pair<const char *, uint64_t> numbers[] = {
      {",window=", spec.window}, {",shift=", spec.shift}, {",stride=", spec.stride}};
  for (const auto &[key, number] : numbers)
    rest += number == 0 ? "" : key + std::to_string(number);
  std::pair<const char *, const std::vector<double> *> lists[] = {{",mean", &spec.mean}, {",std", &spec.std}};
  for (const auto &[key, list] : lists)
    for (size_t i = 0; i < list->size(); ++i)
      rest += (i == 0 ? std::string(key) + "=" : "/") + realText((*list)[i]);
  return rest;
}

} // namespace

std::string textWithoutFiles(const std::vector<std::string> &specs) {
  std::string all;
  for (const std::string &spec : specs)
    all += (all.empty() ? "" : " ") + withoutFiles(spec);
  return all;
}

} // namespace cleave::rt
