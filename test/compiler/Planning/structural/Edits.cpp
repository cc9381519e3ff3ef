#include "test/compiler/Planning/structural/Edits.h"

#include "runtime/plan/Opcode.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace cleave::structural {

Editor::Editor(const Schema &schema, const Value &tree, uint64_t seed) : schema_(schema), tree_(tree), random_(seed) { index(); }

int Editor::pathNumber(const std::string &path) {
  auto [at, isNew] = pathNumbers_.try_emplace(path, static_cast<int>(paths_.size()));
  if (isNew) {
    paths_.push_back(path);
    for (auto *byPath : {&numbers_, &lists_, &others_})
      byPath->emplace_back();
  }
  return at->second;
}

void Editor::index() {
  places_.clear();
  for (auto *byPath : {&numbers_, &lists_, &others_})
    for (std::vector<int> &places : *byPath)
      places.clear();
  int scopes = 0;
  std::function<void(Value &, const Type &, const std::string &, int, int, int)> visit = [&](Value &value, const Type &type,
                                                                                            const std::string &path, int parent,
                                                                                            int within, int scope) {
    if (!value.isThere)
      return;
    int me = static_cast<int>(places_.size()), number = pathNumber(path);
    places_.push_back({&value, type, number, parent, within, scope});
    if (type.isScalar()) {
      numbers_[number].push_back(me);
    } else if (type.base == reflection::Vector) {
      lists_[number].push_back(me);
      for (size_t i = 0; i < value.items.size(); ++i)
        visit(value.items[i], type.ofElements(), path + " element", me, static_cast<int>(i), scope);
    } else {
      others_[number].push_back(me);
      if (type.base == reflection::String)
        return;
      std::string name = schema_.object(type.object).name()->str();
      name = name.substr(name.rfind('.') + 1);
      if (name == "Program" || name == "Plan")
        scope = ++scopes;
      std::vector<const reflection::Field *> fields = schema_.fields(type);
      // The meaning of an instruction's fields depends on its opcode.
      const rt::OpcodeInfo *opcode = name == "Instruction" ? rt::opcodeInfo(static_cast<unsigned>(value.items[0].bits)) : nullptr;
      for (size_t i = 0; i < fields.size(); ++i) {
        std::string field = name + "." + fields[i]->name()->str();
        Type of = typeOf(*fields[i]);
        if (!opcode || field != "Instruction.fields" || !value.items[i].isThere) {
          visit(value.items[i], of, field, me, static_cast<int>(i), scope);
          continue;
        }
        int list = static_cast<int>(places_.size());
        places_.push_back({&value.items[i], of, pathNumber(field), me, static_cast<int>(i), scope});
        lists_[pathNumber(field)].push_back(list);
        for (size_t f = 0; f < value.items[i].items.size(); ++f)
          visit(value.items[i].items[f], of.ofElements(),
                std::string(opcode->mnemonic) + "." + (f < opcode->fields.size() ? std::string(opcode->fields[f]) : "more"), list,
                static_cast<int>(f), scope);
      }
    }
  };
  visit(tree_, schema_.root(), "Plan", -1, 0, 0);
}

// Picks the places of a path. Half of the time each path is equally likely; else its probability is proportional to its
// number of places, and most of a plan is instructions.
std::vector<int> &Editor::pick(std::vector<std::vector<int>> &byPath) {
  if (below(2)) {
    size_t all = 0;
    for (const std::vector<int> &places : byPath)
      all += places.size();
    size_t number = below(all);
    for (std::vector<int> &places : byPath) {
      if (number < places.size())
        return places;
      number -= places.size();
    }
  }
  std::vector<size_t> there;
  for (size_t i = 0; i < byPath.size(); ++i)
    if (!byPath[i].empty())
      there.push_back(i);
  return byPath[of(there)];
}

std::string Editor::where(int place) const {
  std::string text;
  for (int at = place; at > 0; at = places_[at].parent)
    if (places_[places_[at].parent].type.base == reflection::Vector)
      text = "[" + std::to_string(places_[at].within) + "]" + text;
  return paths_[places_[place].path] + " " + text;
}

bool Editor::done(const std::string &what, const std::string &path) {
  told_.push_back(what);
  changed_.push_back(path);
  changes_.push_back(std::move(now_));
  now_.clear();
  index();
  return true;
}

bool Editor::setNumber(int place, uint64_t bits) {
  Place &at = places_[place];
  bits = fitted(at.type, bits);
  if (at.value->bits == bits)
    return false;
  now_.push_back({at.path, at.scope, at.value->bits, bits, at.parent, place});
  at.value->bits = bits;
  return true;
}

// Another number that is possible at this place.
uint64_t Editor::another(int place) {
  const Place &at = places_[place];
  uint64_t old = at.value->bits;
  if (std::vector<uint64_t> legal = schema_.valuesOf(at.type); !legal.empty())
    return of(legal);
  if (at.type.base == reflection::Bool)
    return !old;
  std::vector<int> &alike = numbers_[at.path];
  static const int64_t kSteps[] = {1, -1, 2, -2, 4, -4, 8, -8, 16, 64, -64, 128, 256, -256};
  switch (at.type.isReal() ? 0 : below(8)) {
  case 0:
  case 1:
  case 2:
    return places_[of(alike)].value->bits;
  case 3: { // the previous or the next one in the plan
    auto mine = std::find(alike.begin(), alike.end(), place);
    return places_[mine != alike.begin() && below(2) ? *(mine - 1) : mine + 1 != alike.end() ? *(mine + 1) : *mine].value->bits;
  }
  case 4:
    return old + static_cast<uint64_t>(kSteps[below(std::size(kSteps))]);
  case 5:
    return below(2) ? old * 2 : old / 2;
  case 6:
    return below(2);
  default:
    return old ^ (uint64_t{1} << below(at.path ? 12 : 64));
  }
}

bool Editor::changeNumber() {
  int place = of(pick(numbers_));
  uint64_t old = places_[place].value->bits;
  if (!setNumber(place, another(place)))
    return false;
  return done(where(place) + ": " + std::to_string(old) + " becomes " + std::to_string(places_[place].value->bits), paths_[places_[place].path]);
}

bool Editor::swapAlike() {
  std::vector<int> &alike = pick(below(3) == 0 ? numbers_ : below(2) ? lists_ : others_);
  int a = of(alike), b = of(alike);
  if (below(2) && a + 1 != b) { // near each other
    auto mine = std::find(alike.begin(), alike.end(), a);
    b = mine + 1 != alike.end() ? *(mine + 1) : b;
  }
  auto isWithin = [&](int inner, int outer) {
    for (int at = inner; at >= 0; at = places_[at].parent)
      if (at == outer)
        return true;
    return false;
  };
  if (isWithin(a, b) || isWithin(b, a))
    return false;
  std::string what = where(a) + " and " + where(b) + " change places", path = paths_[places_[a].path];
  std::swap(*places_[a].value, *places_[b].value);
  return done(what, path);
}

bool Editor::takeAnothers() {
  std::vector<int> &alike = pick(below(2) ? lists_ : others_);
  int a = of(alike), b = of(alike);
  if (a == b)
    return false;
  Value copy = *places_[b].value;
  std::string what = where(a) + " becomes what " + where(b) + " is", path = paths_[places_[a].path];
  *places_[a].value = std::move(copy);
  return done(what, path);
}

bool Editor::shorten() {
  int list = of(pick(lists_));
  std::vector<Value> &items = places_[list].value->items;
  if (items.empty())
    return false;
  size_t which = below(items.size());
  std::string what = where(list) + ": element " + std::to_string(which) + " of " + std::to_string(items.size()) + " is dropped";
  items.erase(items.begin() + static_cast<long>(which));
  return done(what, paths_[places_[list].path]);
}

bool Editor::lengthen() {
  int list = of(pick(lists_)), source = below(2) ? list : of(lists_[places_[list].path]);
  std::vector<Value> &items = places_[list].value->items;
  if (places_[source].value->items.empty())
    return false;
  Value copy = of(places_[source].value->items);
  size_t at = below(items.size() + 1);
  std::string what = where(list) + ": an element of " + where(source) + " comes before element " + std::to_string(at);
  items.insert(items.begin() + static_cast<long>(at), std::move(copy));
  return done(what, paths_[places_[list].path]);
}

bool Editor::turn() {
  int list = of(pick(lists_));
  std::vector<Value> &items = places_[list].value->items;
  if (items.size() < 2)
    return false;
  size_t from = below(items.size() - 1), to = from + 2 + below(std::min<size_t>(items.size() - from - 1, below(2) ? 2 : 20));
  to = std::min(to, items.size());
  auto begin = items.begin() + static_cast<long>(from), end = items.begin() + static_cast<long>(to);
  bool isReversed = below(3) == 0;
  if (isReversed)
    std::reverse(begin, end);
  else
    std::rotate(begin, below(2) ? begin + 1 : end - 1, end);
  return done(where(list) + ": elements " + std::to_string(from) + " to " + std::to_string(to) + (isReversed ? " are reversed" : " are turned"),
              paths_[places_[list].path]);
}

bool Editor::move() {
  int list = of(pick(lists_));
  std::vector<Value> &items = places_[list].value->items;
  if (items.size() < 2)
    return false;
  size_t from = below(items.size()), to = below(items.size());
  if (from == to)
    return false;
  Value item = std::move(items[from]);
  items.erase(items.begin() + static_cast<long>(from));
  items.insert(items.begin() + static_cast<long>(to), std::move(item));
  return done(where(list) + ": element " + std::to_string(from) + " becomes element " + std::to_string(to), paths_[places_[list].path]);
}

bool Editor::leaveOut() {
  int place = of(pick(below(2) ? lists_ : others_));
  const Place &at = places_[place];
  if (at.parent < 0 || places_[at.parent].type.base != reflection::Obj)
    return false;
  std::string what = where(place) + " is left out", path = paths_[at.path];
  at.value->isThere = false;
  at.value->items.clear();
  return done(what, path);
}

bool Editor::everywhere() {
  std::vector<int> alike = pick(numbers_);
  int first = of(alike);
  uint64_t from = places_[first].value->bits, to = another(first);
  bool isSwap = below(2), isWholePlan = below(2), isChanged = false;
  for (int place : alike) {
    if (!isWholePlan && places_[place].scope != places_[first].scope)
      continue;
    if (uint64_t old = places_[place].value->bits; old == from)
      isChanged |= setNumber(place, to);
    else if (isSwap && old == fitted(places_[place].type, to))
      isChanged |= setNumber(place, from);
  }
  if (!isChanged)
    return false;
  std::string path = paths_[places_[first].path];
  return done(path + ": each " + std::to_string(from) + (isSwap ? " changes places with " : " becomes ") + std::to_string(to) +
                  (isWholePlan ? "" : " in the scope of " + where(first)),
              path);
}

bool Editor::edit() {
  static bool (Editor::*const kEdits[])() = {&Editor::changeNumber, &Editor::changeNumber, &Editor::changeNumber, &Editor::swapAlike,
                                             &Editor::swapAlike,    &Editor::takeAnothers, &Editor::shorten,      &Editor::lengthen,
                                             &Editor::turn,         &Editor::move,         &Editor::leaveOut,     &Editor::everywhere};
  before_.push_back(tree_);
  for (int tries = 0; tries < 50; ++tries)
    if (now_.clear(); (this->*kEdits[below(std::size(kEdits))])())
      return true;
  before_.pop_back();
  return false;
}

bool Editor::sameElsewhere(const Change &last) {
  std::vector<int> found;
  for (int place : numbers_[last.path])
    if (places_[place].value->bits == last.from)
      found.push_back(place);
  if (found.empty())
    return false;
  if (below(2)) {
    int place = of(found);
    return setNumber(place, last.to) && done(where(place) + ": " + std::to_string(last.from) + " becomes " + std::to_string(last.to), paths_[last.path]);
  }
  bool isChanged = false;
  for (int place : found)
    if (places_[place].scope == last.scope)
      isChanged |= setNumber(place, last.to);
  return isChanged && done(paths_[last.path] + ": each other " + std::to_string(last.from) + " of its scope becomes " + std::to_string(last.to),
                           paths_[last.path]);
}

// Changes a number that was equal to the changed one, or was a multiple or a fraction of it, in the same proportion:
// counts and bytes, offsets and places.
bool Editor::inProportion(const Change &last) {
  uint64_t factor = uint64_t{1} << below(4);
  if (last.from < 2)
    return false;
  bool isDivided = below(3) == 0;
  auto scaled = [&](uint64_t number) { return isDivided ? number / factor : number * factor; };
  std::vector<int> found;
  for (std::vector<int> &places : numbers_)
    for (int place : places)
      if (places_[place].value->bits == scaled(last.from) && !places_[place].type.isReal() && schema_.valuesOf(places_[place].type).empty())
        found.push_back(place);
  if (found.empty())
    return false;
  int place = of(found);
  uint64_t old = places_[place].value->bits;
  return setNumber(place, scaled(last.to)) &&
         done(where(place) + ": " + std::to_string(old) + " becomes " + std::to_string(scaled(last.to)), paths_[places_[place].path]);
}

// Changes a field of the same table, or of a table near it.
bool Editor::beside(const Change &last) {
  if (last.parent < 0 || last.parent >= static_cast<int>(places_.size()))
    return false;
  int top = last.parent;
  for (uint64_t up = below(3); up > 0 && places_[top].parent >= 0; --up)
    top = places_[top].parent;
  std::vector<int> found;
  for (int place = top + 1; place < static_cast<int>(places_.size()) && place < top + 4000; ++place)
    if (places_[place].type.isScalar())
      for (int at = place; at >= top; at = places_[at].parent)
        if (at == top) {
          found.push_back(place);
          break;
        }
  if (found.empty())
    return false;
  int place = of(found);
  uint64_t old = places_[place].value->bits;
  return setNumber(place, another(place)) &&
         done(where(place) + ": " + std::to_string(old) + " becomes " + std::to_string(places_[place].value->bits), paths_[places_[place].path]);
}

bool Editor::follow() {
  if (changes_.empty() || changes_.back().empty())
    return edit();
  Change last = of(changes_.back());
  before_.push_back(tree_);
  for (int tries = 0; tries < 20; ++tries) {
    now_.clear();
    switch (below(4)) {
    case 0:
    case 1:
      if (sameElsewhere(last))
        return true;
      break;
    case 2:
      if (inProportion(last))
        return true;
      break;
    default:
      if (beside(last))
        return true;
    }
  }
  before_.pop_back();
  return edit();
}

void Editor::undo() {
  tree_ = std::move(before_.back());
  before_.pop_back();
  told_.pop_back();
  changed_.pop_back();
  changes_.pop_back();
  index();
}

} // namespace cleave::structural
