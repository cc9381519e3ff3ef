#include "compiler/Training/Optimizers/OptimizerUpdate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace cleave {

// "it reads the setting 'epsilon', and declares eps, weight_decay". Each entry has a name, which `nameOf` returns.
template <typename Entries, typename NameOf>
static std::string describeUndeclared(const char *what, llvm::StringRef name, const Entries &entries, NameOf nameOf) {
  std::string declared = llvm::join(llvm::map_range(entries, nameOf), ", ");
  return ("it reads the " + llvm::Twine(what) + " '" + name + "', and declares " +
          (declared.empty() ? "none" : declared))
      .str();
}

OptimizerSettings::OptimizerSettings(const std::vector<OptimizerSetting> &declared) {
  for (const OptimizerSetting &setting : declared)
    entries.push_back({setting.key, setting.byDefault});
}

const OptimizerSettings::Entry *OptimizerSettings::find(llvm::StringRef key) const {
  auto found = llvm::find_if(entries, [&](const Entry &entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

double OptimizerSettings::get(llvm::StringRef key) const {
  if (const Entry *entry = find(key))
    return entry->value;
  if (mistake.empty())
    mistake = describeUndeclared("setting", key, entries, [](const Entry &entry) { return entry.key; });
  return 0;
}

void OptimizerSettings::set(llvm::StringRef key, double value) {
  if (const Entry *entry = find(key))
    entries[entry - entries.data()].value = value;
}

Value &OptimizerUpdate::state(llvm::StringRef name) {
  auto found = llvm::find_if(states, [&](const auto &state) { return state.first == name; });
  if (found != states.end())
    return found->second;
  if (mistake.empty())
    mistake = describeUndeclared("state", name, states, [](const auto &state) { return state.first; });
  return spare = param;
}

// Adding a term of -0 changes no bit.
Value OptimizerUpdate::decayTerm() {
  (void)get(OptimizerSetting::kWeightDecay); // an optimizer that does not declare it has no decay: undeclared() tells
  Value none = a.splat(tensorType(param), -0.0);
  return byDecay([&](double decay) { return decay == 0 ? none : a.scale(param, decay); });
}

void OptimizerUpdate::addWeightDecay() { grad = a.add(grad, decayTerm()); }

// A factor of 1 changes no bit.
void OptimizerUpdate::shrink() {
  (void)get(OptimizerSetting::kWeightDecay); // as in decayTerm()
  Value one = a.splat(tensorType(param), 1);
  Value factor = scalars.lrAndDecay.choose(a, [&](std::pair<Value, double> group) {
    auto [lr, decay] = group;
    return decay == 0 ? one : a.spread(a.sub(a.splat(tensorType(lr), 1), a.scale(lr, decay)), param);
  });
  param = a.mul(param, factor);
}

void OptimizerUpdate::descend(Value direction) {
  Value rate = byRate([&](Value lr) { return a.spread(lr, direction); });
  param = a.sub(param, a.mul(rate, direction));
}

Value OptimizerUpdate::biasCorrection(double beta) {
  RankedTensorType type = tensorType(step);
  return a.sub(a.splat(type, 1), a.pow(a.splat(type, beta), step));
}

} // namespace cleave
