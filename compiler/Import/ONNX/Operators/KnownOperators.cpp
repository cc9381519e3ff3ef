#include "compiler/Import/ONNX/Operators/KnownOperators.h"
#include "compiler/Import/ONNX/Operators/ControlFlow.h"
#include "compiler/Import/ONNX/Operators/CustomOperators.h"

#include "llvm/ADT/StringExtras.h"

using namespace cleave::onnx_import;

// Returns what the user can do about an unknown operator.
static std::string remedy(const FlatNode &node, OperatorTable::Lookup lookup) {
  using Lookup = OperatorTable::Lookup;
  if (auto since = cleave::firstOperatorVersion(canonicalDomain(node.proto->domain()), node.proto->op_type()))
    return "the plug-in that has it reads version " + std::to_string(*since) +
           " or newer of its domain, the file says " + std::to_string(node.opset());
  if (lookup == Lookup::UnknownDomain)
    return "operators of domain " + quote(node.proto->domain()) +
           " are not read; export with standard operators, add a model-local function for it, or "
           "load a plug-in that registers it (see the guide 'Write an operator', extending/operator.md)";
  if (lookup == Lookup::NewerThanOpset)
    return "it needs opset " + std::to_string(OperatorTable::get().firstVersion(node.proto->op_type())) +
           " or newer, the file says " + std::to_string(node.opset()) + "; export with a newer opset_version";
  return "express it by other operators in the module, export with the other of PyTorch's exporters or another "
         "opset_version (they write some operations differently), or load a plug-in that registers the operator "
         "(see the guide 'Write an operator', extending/operator.md)";
}

bool cleave::onnx_import::isStandardOperator(const FlatNode &node) {
  Handler handler;
  return OperatorTable::get().find(node, handler) == OperatorTable::Lookup::Found || ControlFlow::imports(node);
}

void cleave::onnx_import::reportUnknownOperators(const FlatGraph &graph, ErrorList &errors) {
  struct Finding {
    std::vector<std::string> nodes;
    size_t count = 0;
    std::string remedy;
  };
  std::map<std::string, Finding> findings;
  for (const FlatNode &node : graph.nodes) {
    if (isStandardOperator(node) || findCustomOperator(node))
      continue;
    Handler handler;
    auto lookup = OperatorTable::get().find(node, handler);
    llvm::StringRef domain = canonicalDomain(node.proto->domain());
    Finding &finding = findings[(domain.empty() ? "" : domain + "::").str() + node.proto->op_type()];
    if (++finding.count <= 3)
      finding.nodes.push_back(node.shortName());
    finding.remedy = remedy(node, lookup);
  }
  for (auto &[name, finding] : findings)
    errors.add("operator " + quote(name) + " (" + llvm::Twine(finding.count) +
               (finding.count == 1 ? " node" : " nodes") + ": " + llvm::join(finding.nodes, ", ") +
               (finding.count > 3 ? ", ..." : "") + ") is not supported: " + finding.remedy);
}
