#include "runtime/train/loop/EvaluationRule.h"

#include "runtime/plan/Properties.h"

#include <algorithm>
#include <sstream>

namespace cleave::rt {
namespace {

bool holds(const std::string &predicate, double a, double b) {
  if (predicate == "eq")
    return a == b;
  if (predicate == "ne")
    return a != b;
  if (predicate == "lt")
    return a < b;
  if (predicate == "le")
    return a <= b;
  return predicate == "gt" ? a > b : a >= b;
}

bool isPredicate(const std::string &text) {
  for (const char *known : {"eq", "ne", "lt", "le", "gt", "ge"})
    if (text == known)
      return true;
  return false;
}

} // namespace

Status EvaluationRule::readGuard(const std::string &text, Guard *guard) {
  std::istringstream words(text);
  std::string then = "then", rest;
  words >> guard->kind;
  bool isWhere = guard->kind == "where", isKnown = isWhere || guard->kind == "plus" || guard->kind == "at-least";
  if (isWhere)
    words >> guard->predicate;
  words >> guard->number;
  if (isWhere)
    words >> then >> guard->other;
  bool isRead = !words.fail() && !(words >> rest) && then == "then" && (!isWhere || isPredicate(guard->predicate));
  if (isKnown && isRead)
    return Status::ok();
  return dataLoss(std::string("the plan's property ") + kDivisorProperty + " is '" + text +
                  "'; expected plus NUMBER, at-least NUMBER or where PREDICATE NUMBER then NUMBER");
}

Status EvaluationRule::read(const fb::Plan &plan, EvaluationRule *result) {
  EvaluationRule rule;
  rule.countsMeans_ = propertyOf(plan, kCountProperty) == "mean";
  rule.wholeBatches_ = propertyOf(plan, kBatchesProperty) == "whole";
  std::istringstream guards(propertyOf(plan, kDivisorProperty));
  for (std::string text; std::getline(guards, text, ',');) {
    rule.guards_.emplace_back();
    CLEAVE_TRY(readGuard(text, &rule.guards_.back()));
  }
  *result = std::move(rule);
  return Status::ok();
}

double EvaluationRule::divisorOf(double count, double batches) const {
  double excess = countsMeans_ ? batches : 1;
  for (const Guard &guard : guards_) {
    double number = guard.number * excess;
    if (guard.kind == "plus")
      count += number;
    else if (guard.kind == "at-least")
      count = std::max(count, number);
    else if (holds(guard.predicate, count, number))
      count = guard.other * excess;
  }
  return count;
}

} // namespace cleave::rt
