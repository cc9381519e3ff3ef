#include "runtime/train/loop/LearningRateSchedule.h"

#include "runtime/base/NearestName.h"
#include "runtime/base/NumberRange.h"
#include "runtime/base/OptionKeys.h"
#include "runtime/base/OptionText.h"

#include <algorithm>
#include <cmath>

namespace cleave::rt {
namespace {

bool parseSize(std::string value, LearningRateSchedule *schedule) {
  for (const char *suffix : {"epochs", "epoch"}) {
    std::string_view unit(suffix);
    if (value.size() > unit.size() && value.compare(value.size() - unit.size(), unit.size(), unit) == 0) {
      value.resize(value.size() - unit.size());
      schedule->sizeInEpochs = true;
      break;
    }
  }
  return parseUnsigned(value, &schedule->size) && schedule->size != 0;
}

Status parseKey(const std::string &key, const std::string &value, LearningRateSchedule *schedule) {
  using Kind = LearningRateSchedule::Kind;
  bool isStep = schedule->kind == Kind::Step;
  bool decays = schedule->kind == Kind::Cosine || schedule->kind == Kind::Linear;
  bool good = false;
  if (key == "warmup")
    good = parseUnsigned(value, &schedule->warmup);
  else if ((key == "size" || key == "every") && isStep)
    good = parseSize(value, schedule);
  else if (key == "gamma" && isStep)
    good = parseReal(value, &schedule->gamma) && isNumberAbove(schedule->gamma, 0);
  else if (key == "min" && decays)
    good = parseReal(value, &schedule->min) && isNumberFrom(schedule->min, 0);
  else if (key == "steps" && decays)
    good = parseUnsigned(value, &schedule->steps) && schedule->steps != 0;
  else
    return invalidArgument("unknown key '" + key + "'; expected warmup" +
                           (isStep   ? ", size or gamma"
                            : decays ? ", min or steps"
                                     : ""));
  return good ? Status::ok()
              : invalidArgument("'" + value + "' is not a value for " + key + "; expected " +
                                (key == "warmup"  ? "a whole number of steps from 0"
                                 : key == "gamma" ? "a positive number (in f32)"
                                 : key == "min"   ? "a number of 0 or more (in f32)"
                                 : key == "steps" ? "a whole number of steps from 1"
                                                  : "a whole number of steps from 1, or of epochs as in 2epoch"));
}

} // namespace

Status parseLearningRateSchedule(const std::string &text, LearningRateSchedule *result) {
  std::vector<std::string> items = splitText(text, ',');
  LearningRateSchedule schedule;
  if (items[0] == "step")
    schedule.kind = LearningRateSchedule::Kind::Step;
  else if (items[0] == "cosine")
    schedule.kind = LearningRateSchedule::Kind::Cosine;
  else if (items[0] == "linear")
    schedule.kind = LearningRateSchedule::Kind::Linear;
  else if (items[0] != "constant")
    return invalidArgument("'" + items[0] + "' is not a schedule; expected constant, step, cosine or linear" +
                           didYouMean(items[0], {"constant", "step", "cosine", "linear"}));
  OptionKeys keys;
  for (size_t i = 1; i < items.size(); ++i) {
    size_t equals = items[i].find('=');
    if (equals == std::string::npos)
      return invalidArgument("'" + items[i] + "': expected key=value");
    std::string key = items[i].substr(0, equals);
    if (!keys.add(key == "every" ? "size" : key))
      return invalidArgument("'" + text + "': " + key + " is given twice" +
                             (key == "size" || key == "every" ? " (size and every are the same)" : ""));
    CLEAVE_TRY(parseKey(key, items[i].substr(equals + 1), &schedule).in("'" + text + "'"));
  }
  if (schedule.kind == LearningRateSchedule::Kind::Step && schedule.size == 0)
    return invalidArgument("'" + text + "': step needs size=N or size=Nepoch");
  if (schedule.steps != 0 && schedule.steps <= schedule.warmup)
    return invalidArgument("'" + text + "': expected more steps than those of the warmup");
  *result = schedule;
  return Status::ok();
}

double LearningRateSchedule::rate(double lr, uint64_t k, uint64_t epoch, uint64_t total) const {
  if (k < warmup)
    return lr * static_cast<double>(k + 1) / static_cast<double>(warmup);
  total = steps != 0 ? steps : total;
  double length = total > warmup ? static_cast<double>(total - warmup) : 1;
  double t = std::min(static_cast<double>(k - warmup), length);
  switch (kind) {
  case Kind::Constant:
    return lr;
  case Kind::Step:
    return lr * std::pow(gamma, static_cast<double>((sizeInEpochs ? epoch : k - warmup) / size));
  case Kind::Cosine:
    return min + (lr - min) * (1 + std::cos(M_PI * t / length)) / 2;
  case Kind::Linear:
    return lr + (min - lr) * t / length;
  }
  return lr;
}

} // namespace cleave::rt
