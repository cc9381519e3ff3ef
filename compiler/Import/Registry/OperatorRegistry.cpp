#include "compiler/Import/Registry/OperatorRegistry.h"

#include "compiler/Support/Mistakes.h"

#include <map>

using namespace cleave;

NodeImport::~NodeImport() = default;

namespace {

struct Registry {
  using Versions = std::map<int64_t, CustomOperator>;
  std::map<std::pair<std::string, std::string>, Versions> operators; // by domain and name
  std::vector<std::string> mistakes;

  static Registry &get() {
    static Registry registry;
    return registry;
  }
  const Versions *find(llvm::StringRef domain, llvm::StringRef name) const {
    auto found = operators.find({domain.str(), name.str()});
    return found == operators.end() ? nullptr : &found->second;
  }
};

// Returns an empty string if the entry may be registered.
std::string mistakeIn(const CustomOperator &entry) {
  if (entry.domain.empty() || entry.domain == "ai.onnx")
    return "the default domain's operators are ONNX's own; expected a domain such as com.example";
  if (entry.name.empty() || !entry.import)
    return "expected a name and a handler";
  if (entry.minInputs > entry.maxInputs)
    return "takes at least " + std::to_string(entry.minInputs) + " inputs and at most " +
           std::to_string(entry.maxInputs) + "; expected a range";
  return "";
}

} // namespace

void cleave::registerOperator(CustomOperator registered) {
  Registry &registry = Registry::get();
  std::string label = "operator '" + registered.domain + "::" + registered.name + "'";
  if (std::string mistake = mistakeIn(registered); !mistake.empty())
    return registry.mistakes.push_back(label + ": " + mistake);
  auto [entry, isNew] =
      registry.operators[{registered.domain, registered.name}].try_emplace(registered.since, registered);
  // If a user names a library twice, it registers the same handler again. This is not a mistake.
  if (!isNew && entry->second.import != registered.import)
    registry.mistakes.push_back(label + ": two plug-ins register it since version " + std::to_string(registered.since) +
                                "; load only one of them");
}

llvm::Error cleave::checkRegistrations() { return takeMistakes(Registry::get().mistakes); }

const CustomOperator *cleave::findOperator(llvm::StringRef domain, llvm::StringRef name, int64_t version) {
  const Registry::Versions *versions = Registry::get().find(domain, name);
  if (!versions)
    return nullptr;
  auto above = versions->upper_bound(version);
  return above == versions->begin() ? nullptr : &std::prev(above)->second;
}

std::optional<int64_t> cleave::firstOperatorVersion(llvm::StringRef domain, llvm::StringRef name) {
  const Registry::Versions *versions = Registry::get().find(domain, name);
  return versions ? std::optional<int64_t>(versions->begin()->first) : std::nullopt;
}
