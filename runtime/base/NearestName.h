// "Did you mean": finds the name of a list that is closest to a mistyped one.
#ifndef CLEAVE_RUNTIME_BASE_NEARESTNAME_H
#define CLEAVE_RUNTIME_BASE_NEARESTNAME_H

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::rt {

// The Levenshtein distance.
inline size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

// "AdamW" becomes "adamw", and "Weight-Decay" "weight_decay".
inline std::string withoutCase(std::string_view text) {
  std::string plain(text);
  for (char &letter : plain)
    letter = letter == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return plain;
}

// True for two names of one type of numbers, such as "float16" and "fp16", which differ too much to be near.
inline bool sameNumberType(std::string_view a, std::string_view b) {
  static constexpr std::string_view types[] = {" f32 fp32 float32 float single ", " f16 fp16 float16 half ",
                                               " bf16 bfloat16 ", " f64 fp64 float64 double "};
  for (std::string_view type : types)
    if (type.find(" " + std::string(a) + " ") != std::string_view::npos)
      return type.find(" " + std::string(b) + " ") != std::string_view::npos;
  return false;
}

// Returns a name that differs in case only, or is another name of the same type of numbers. Otherwise returns the name
// with the smallest distance, without case, of at most a third of the typed name's length, or 2 if that is more, but
// never more than half of the length. Returns an empty text if there is none.
inline std::string nearestName(std::string_view typed, const std::vector<std::string> &names) {
  std::string plain = withoutCase(typed);
  for (const std::string &name : names)
    if (name != typed && (withoutCase(name) == plain || sameNumberType(plain, name)))
      return name;
  // Half of the length: otherwise f32 would be near to f64, and a name of one letter to every other one.
  size_t best = std::min(std::max<size_t>(2, typed.size() / 3), typed.size() / 2) + 1;
  std::string nearest;
  for (const std::string &name : names)
    if (size_t distance = editDistance(plain, withoutCase(name)); distance < best) {
      best = distance;
      nearest = name;
    }
  return nearest;
}

// "; did you mean 'steps'?", or nothing.
inline std::string didYouMean(std::string_view typed, const std::vector<std::string> &names) {
  std::string near = nearestName(typed, names);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

// "a, b, c"
inline std::string joinNames(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

// "a, b or c"
inline std::string joinChoices(const std::vector<std::string> &names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

// The message for an option whose value is none of these: "expected nll or mse; got: msee; did you mean 'mse'?".
inline std::string expectedOneOf(std::string_view typed, const std::vector<std::string> &names) {
  return "expected " + joinChoices(names) + "; got: " + std::string(typed) + didYouMean(typed, names);
}

} // namespace cleave::rt

#endif
