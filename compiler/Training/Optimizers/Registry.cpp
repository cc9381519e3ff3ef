#include "compiler/Support/Mistakes.h"
#include "compiler/Training/Optimizers/OwnOptimizers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <deque>

using namespace cleave;
using llvm::StringRef;

namespace {

struct Registry {
  // A deque: pointers to optimizers stay valid when another one is registered.
  std::deque<Optimizer> optimizers = {makeSgd(),     makeAdam(),    makeAdamW(), makeAdadelta(),
                                      makeRmsProp(), makeAdagrad(), makeLion(),  makeLamb()};
  std::vector<std::string> mistakes;

  static Registry &get() {
    static Registry registry;
    return registry;
  }
};

bool isWord(StringRef text, StringRef further) {
  return !text.empty() && llvm::all_of(text, [&](char c) { return llvm::isAlnum(c) || further.contains(c); });
}

std::string mistakeIn(const OptimizerSetting &setting) {
  std::string label = "setting '" + setting.key + "': ";
  if (!isWord(setting.key, "_"))
    return label + "expected letters, digits and '_'";
  if (setting.key == "lr")
    return label + "the learning rate is not compiled in; the program has it (train --lr)";
  if (!(setting.byDefault >= setting.low && setting.byDefault < setting.high))
    return label + "the default is not in the range [low, high)";
  return "";
}

// Returns the mistake, or an empty text if the optimizer may be registered.
std::string mistakeIn(const Optimizer &optimizer) {
  if (!isWord(optimizer.name, "_-"))
    return "the name has letters, digits, '_' and '-'";
  if (!optimizer.states || !optimizer.update)
    return "expected functions that give the states and the update";
  if (!(optimizer.rate > 0))
    return "expected a learning rate above 0";
  llvm::StringSet<> keys, names;
  for (const OptimizerSetting &setting : optimizer.settings) {
    if (std::string mistake = mistakeIn(setting); !mistake.empty())
      return mistake;
    if (!keys.insert(setting.key).second)
      return "setting '" + setting.key + "' is declared twice";
  }
  OptimizerSettings settings(optimizer.settings);
  OptimizerStates states = optimizer.states(settings);
  if (!settings.undeclared().empty())
    return "in its function of states " + settings.undeclared();
  for (const OptimizerState &state : states) {
    // Cleave makes states with these names itself (grad, master, before).
    bool isTaken = state.name == "grad" || state.name == "master" || state.name == "before";
    if (!isWord(state.name, "_") || isTaken || !names.insert(state.name).second)
      return "state '" + state.name + "': expected letters, digits and '_', each name once, and not grad, master, before";
  }
  return "";
}

} // namespace

void cleave::registerOptimizer(Optimizer optimizer) {
  Registry &registry = Registry::get();
  std::string label = "optimizer '" + optimizer.name + "': ";
  if (std::string mistake = mistakeIn(optimizer); !mistake.empty())
    return registry.mistakes.push_back(label + mistake);
  const Optimizer *known = findOptimizer(optimizer.name);
  if (!known)
    registry.optimizers.push_back(std::move(optimizer));
  else if (known->update != optimizer.update) // the same library loaded twice is no mistake
    registry.mistakes.push_back(label + "an optimizer of that name is there already; choose another name");
}

llvm::Error cleave::checkOptimizers() { return takeMistakes(Registry::get().mistakes); }

const Optimizer *cleave::findOptimizer(StringRef name) {
  for (const Optimizer &optimizer : Registry::get().optimizers)
    if (optimizer.name == name)
      return &optimizer;
  return nullptr;
}

std::vector<const Optimizer *> cleave::allOptimizers() {
  std::vector<const Optimizer *> all;
  for (const Optimizer &optimizer : Registry::get().optimizers)
    all.push_back(&optimizer);
  return all;
}
