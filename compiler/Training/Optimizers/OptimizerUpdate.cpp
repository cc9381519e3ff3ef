#include "compiler/Training/Optimizers/OptimizerUpdate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace cleave {

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
  llvm::report_fatal_error("an optimizer reads the setting '" + key + "', which it does not declare");
}

void OptimizerSettings::set(llvm::StringRef key, double value) {
  if (const Entry *entry = find(key))
    entries[entry - entries.data()].value = value;
}

Value &OptimizerUpdate::state(llvm::StringRef name) {
  auto found = llvm::find_if(states, [&](const auto &state) { return state.first == name; });
  if (found == states.end())
    llvm::report_fatal_error("an optimizer reads the state '" + name + "', which it does not declare");
  return found->second;
}

// A term of -0 changes no bit.
void OptimizerUpdate::addWeightDecay() {
  Value none = a.splat(tensorType(param), -0.0);
  Value term = byDecay([&](double decay) { return decay == 0 ? none : a.scale(param, decay); });
  grad = a.add(grad, term);
}

// A factor of 1 changes no bit.
void OptimizerUpdate::shrink() {
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

// In f64, as the gradient's norm: the square of an f32 number may be infinite in f32.
Value OptimizerUpdate::tensorNorms(Value x) {
  Value wide = a.cast(x, Float64Type::get(x.getContext()));
  return a.sqrt(tensors.sums(a, a.mul(wide, wide)));
}

Value OptimizerUpdate::spreadByTensor(Value numbers) {
  RankedTensorType type = tensorType(param);
  return tensors.spread(a, a.cast(numbers, type.getElementType()), type.getShape());
}

} // namespace cleave
