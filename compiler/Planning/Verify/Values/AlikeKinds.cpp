#include "compiler/Planning/Verify/Values/AlikeKinds.h"

#include <algorithm>

namespace cleave::plan {

void KindOfBodies::add(const std::string &body, Meaning meaning, const Messages &messages) {
  for (const auto &[text, collectives] : messages.met()) {
    meaning["meets " + text] = collectives.brought;
    met.emplace(text, collectives.group);
  }
  bodies[body] = std::move(meaning);
  taken.insert(messages.taken().begin(), messages.taken().end());
}

namespace {

// Classes of kinds that may be alike. At first there is one class. Classes are split until nothing distinguishes the
// kinds of a class.
class Classes {
public:
  explicit Classes(const std::vector<KindOfBodies> &kinds) : kinds_(kinds), classOf_(kinds.size(), 0) {}

  std::vector<size_t> find() {
    for (size_t known = 0; known != count_;) {
      known = count_;
      split();
    }
    return classOf_;
  }

private:
  // A class has the number of its first kind.
  void split() {
    std::map<ValueNumber, size_t> firstOf;
    std::vector<size_t> next(kinds_.size());
    for (size_t kind = 0; kind < kinds_.size(); ++kind)
      next[kind] = firstOf.emplace(numberOf(kind), kind).first->second;
    classOf_ = std::move(next);
    count_ = firstOf.size();
  }

  // Returns the number of everything that may distinguish the kind from others.
  ValueNumber numberOf(size_t kind) const {
    const KindOfBodies &own = kinds_[kind];
    Expression expression("kind");
    expression.add(uint64_t{classOf_[kind]}).add(own.calls);
    bool isAlone = std::any_of(kinds_.begin(), kinds_.end(), [](const KindOfBodies &one) { return !one.callsFirst; });
    auto addOne = [&](const std::set<size_t> &classes) {
      isAlone |= classes.size() > 1;
      expression.addAll(classes);
    };
    for (const auto &[body, meaning] : own.bodies) {
      expression.add(body);
      for (const auto &[key, number] : meaning)
        if (isOfAll(key, classOf_[kind]))
          expression.add(key).add(number);
    }
    for (const auto &[channel, facts] : own.taken)
      addOne(classesThat([&](const KindOfBodies &sender) {
        return sender.box.reaches(own.box, facts.axis.axes, static_cast<uint64_t>(facts.offset), facts.axis.ranks);
      }));
    for (const auto &[text, group] : own.met)
      addOne(classesThat([&](const KindOfBodies &other) { return own.box.meets(other.box, group); }));
    return isAlone ? expression.add("alone").add(uint64_t{kind}).number() : expression.number();
  }

  template <typename Is> std::set<size_t> classesThat(Is is) const {
    std::set<size_t> found;
    for (size_t kind = 0; kind < kinds_.size(); ++kind)
      if (is(kinds_[kind]))
        found.insert(classOf_[kind]);
    return found;
  }

  // False for a state that some kinds of the class do not have. What a kind does with such a state need not be
  // compared, because its effects on other results are compared.
  bool isOfAll(const std::string &key, size_t ofClass) const {
    if (key.rfind("state ", 0) != 0)
      return true;
    for (size_t kind = 0; kind < kinds_.size(); ++kind)
      if (classOf_[kind] == ofClass && !kinds_[kind].states.count(key.substr(6)))
        return false;
    return true;
  }

  const std::vector<KindOfBodies> &kinds_;
  std::vector<size_t> classOf_;
  size_t count_ = 1;
};

} // namespace

std::vector<KindBox> firstAlike(const std::vector<KindOfBodies> &kinds) {
  std::vector<size_t> classOf = Classes(kinds).find();
  std::vector<KindBox> first;
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    first.push_back(kinds[kind].box);
    for (size_t other = 0; other < kinds.size(); ++other)
      if (classOf[other] == classOf[kind] && kinds[other].box.ranges < first.back().ranges)
        first.back() = kinds[other].box;
  }
  return first;
}

std::optional<std::pair<size_t, size_t>> meetUnlike(const std::vector<KindOfBodies> &kinds,
                                                    const std::vector<KindBox> &first) {
  for (size_t kind = 0; kind < kinds.size(); ++kind)
    for (const auto &[text, group] : kinds[kind].met)
      for (size_t other = 0; other < kinds.size(); ++other)
        if (kinds[kind].box.meets(kinds[other].box, group) && first[kind].ranges != first[other].ranges)
          return std::pair(kind, other);
  return std::nullopt;
}

} // namespace cleave::plan
