// Mutations of a plan's statements about itself: the numbers of its programs' results, and the seal of its
// declarations. Also edits of instructions together with the statements about them, as somebody makes who knows how a
// plan is checked.
//
// The worst forger computes a hash again with the verifier's own code. So this family includes that code. No other
// does.
#include "test/compiler/Planning/mutation/Mutator.h"
#include "test/compiler/Planning/mutation/Restate.h"

#include <algorithm>

namespace cleave::mutation {

static std::vector<std::pair<fb::ProgramT *, size_t>> statements(fb::PlanT &plan, const std::string &begin) {
  std::vector<std::pair<fb::ProgramT *, size_t>> found;
  for (auto &program : plan.programs)
    for (size_t i = 0; i < program->meaning.size(); ++i)
      if (program->meaning[i]->name.rfind(begin, 0) == 0)
        found.emplace_back(program.get(), i);
  return found;
}

static std::string textOf(const std::pair<fb::ProgramT *, size_t> &at) {
  return at.first->name + " on " + at.first->meaning[at.second]->name;
}

static bool changeNumber(Subject &subject) {
  auto found = statements(subject.plan, "");
  if (found.empty())
    return false;
  auto at = subject.dice.of(found), other = subject.dice.of(found);
  subject.change = "statement of " + textOf(at) + ": another number";
  fb::MeaningT &stated = *at.first->meaning[at.second];
  const fb::MeaningT &another = *other.first->meaning[other.second];
  if (subject.dice.coin())
    ++(subject.dice.coin() ? stated.number : stated.high);
  else
    stated.number = another.number, stated.high = another.high;
  return true;
}

static bool swapStatements(Subject &subject) {
  auto found = statements(subject.plan, "state ");
  if (found.size() < 2)
    return false;
  auto a = subject.dice.of(found), b = subject.dice.of(found);
  subject.change = "statements of " + textOf(a) + " and " + textOf(b) + " exchanged";
  std::swap(a.first->meaning[a.second]->number, b.first->meaning[b.second]->number);
  std::swap(a.first->meaning[a.second]->high, b.first->meaning[b.second]->high);
  return true;
}

static std::string dropStatement(Subject &subject, const std::string &begin) {
  auto found = statements(subject.plan, begin);
  if (found.empty())
    return "";
  auto at = subject.dice.of(found);
  std::string text = textOf(at);
  at.first->meaning.erase(at.first->meaning.begin() + static_cast<std::ptrdiff_t>(at.second));
  return text;
}

static bool dropOne(Subject &subject, bool forge) {
  std::string text = dropStatement(subject, "");
  if (text.empty())
    return false;
  subject.change = "statement of " + text + ": dropped" + (forge ? ", sealed anew" : "");
  if (forge)
    sealDeclarations(subject.root);
  return true;
}

static bool dropAll(Subject &subject) {
  if (statements(subject.plan, "").empty())
    return false;
  subject.change = "all statements dropped, sealed anew";
  for (auto &program : subject.plan.programs)
    program->meaning.clear();
  sealDeclarations(subject.root);
  return true;
}

static bool changeExpressions(Subject &subject) {
  std::vector<fb::ProgramT *> found;
  for (auto &program : subject.plan.programs)
    if (!program->expressions.empty())
      found.push_back(program.get());
  if (found.empty())
    return false;
  fb::ProgramT &program = *subject.dice.of(found);
  subject.change = "expressions of " + program.name;
  if (subject.dice.coin())
    program.expressions.clear();
  else
    subject.dice.of(program.expressions) ^= 1;
  return true;
}

static bool changeSeal(Subject &subject) {
  subject.change = "the seal of declarations";
  subject.plan.declared ^= uint64_t{1} << subject.dice.below(64);
  return true;
}

static bool dropCollective(Subject &subject, std::string &change) {
  Site site = subject.pick([](const fb::InstructionT &i) { return isCollective(i); });
  if (!site)
    return false;
  change += subject.text(site) + ": dropped";
  site.program->instructions.erase(site.program->instructions.begin() + static_cast<std::ptrdiff_t>(site.index));
  return true;
}

static bool dropTwo(Subject &subject) {
  std::string change;
  if (!dropCollective(subject, change))
    return false;
  change += "; ";
  if (!dropCollective(subject, change))
    return false;
  subject.change = change;
  return true;
}

// Drops a collective, together with the statement that needs its result.
static bool dropWithStatement(Subject &subject) {
  std::string change;
  if (!dropCollective(subject, change))
    return false;
  std::string text = dropStatement(subject, "state ");
  if (text.empty())
    return false;
  subject.change = change + "; with the statement of " + text + ", sealed anew";
  sealDeclarations(subject.root);
  return true;
}

// Drops all collectives of one opcode, together with the statements about all states of a program.
static bool dropAllWithStatements(Subject &subject) {
  Site site = subject.pick([](const fb::InstructionT &i) { return isCollective(i); });
  if (!site)
    return false;
  auto opcode = site->op;
  subject.change = "all " + std::string(infoOf(*site).mnemonic) + " dropped, with all statements, sealed anew";
  for (auto &program : subject.plan.programs) {
    auto &list = program->instructions;
    list.erase(std::remove_if(list.begin(), list.end(), [&](auto &i) { return i->op == opcode; }), list.end());
    auto &meaning = program->meaning;
    meaning.erase(
        std::remove_if(meaning.begin(), meaning.end(), [](auto &m) { return m->name.rfind("state ", 0) == 0; }),
        meaning.end());
  }
  sealDeclarations(subject.root);
  return true;
}

// Makes a change of stateKinds() or tableKinds(), and the seal of the changed plan.
static bool forgeAnother(Subject &subject) {
  std::vector<MutationKind> kinds = stateKinds();
  for (MutationKind &kind : tableKinds())
    kinds.push_back(std::move(kind));
  for (int tries = 0; tries < 20; ++tries)
    if (const MutationKind &kind = subject.dice.of(kinds); kind.apply(subject)) {
      subject.change = kind.name + ", " + subject.change + ", sealed anew";
      sealDeclarations(subject.root);
      return true;
    }
  return false;
}

// Makes one edit of these kinds, and adds to the change what it was. Returns false if none of 20 fits.
static bool editOnce(Subject &subject, std::vector<MutationKind> &kinds, std::string &change) {
  for (int tries = 0; tries < 20; ++tries)
    if (const MutationKind &kind = subject.dice.of(kinds); kind.apply(subject)) {
      change += (change.empty() ? "" : "; ") + kind.name + ", " + subject.change;
      return true;
    }
  return false;
}

// Makes up to three edits of the other families, half of them of what programs and ranks share. The plan then states and
// seals everything that follows from them.
static bool restateAnother(Subject &subject) {
  std::vector<MutationKind> kinds, shared = sharedKinds();
  for (auto family : {orderKinds, insertionKinds, bufferKinds, fieldKinds, stateKinds, tableKinds, combinedKinds})
    for (MutationKind &kind : family())
      kinds.push_back(std::move(kind));
  std::string change;
  for (uint64_t edits = 1 + subject.dice.below(3); edits > 0; --edits)
    if (!editOnce(subject, subject.dice.coin() ? shared : kinds, change))
      break;
  subject.change = change + ", restated";
  return !change.empty() && restate(subject.root);
}

std::vector<MutationKind> meaningKinds() {
  return {{"meaning number", changeNumber},
          {"meaning swapped", swapStatements},
          {"meaning dropped", [](Subject &s) { return dropOne(s, false); }},
          {"meaning expressions", changeExpressions},
          {"meaning seal", changeSeal},
          {"drop two collectives", dropTwo},
          {"forged: meaning dropped", [](Subject &s) { return dropOne(s, true); }},
          {"forged: no meaning at all", dropAll},
          {"forged: drop with its meaning", dropWithStatement},
          {"forged: drop all with meaning", dropAllWithStatements},
          {"forged: declarations", forgeAnother},
          {kRestated, restateAnother}};
}

} // namespace cleave::mutation
