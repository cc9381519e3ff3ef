#include "compiler/Codegen/Loops/Scopes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace cleave;

void Scopes::open(Operation *inner, Block *body) {
  scopes.back().inner = inner;
  scopes.push_back({body, nullptr, {}});
}

void Scopes::close() {
  for (const Key &key : scopes.back().keys)
    elements.erase(key);
  scopes.pop_back();
  scopes.back().inner = nullptr;
}

OpBuilder &Scopes::at(unsigned depth) {
  Scope &scope = scopes[depth];
  if (scope.inner)
    builder.setInsertionPoint(scope.inner);
  else if (!scope.block->empty() && scope.block->back().hasTrait<OpTrait::IsTerminator>())
    builder.setInsertionPoint(&scope.block->back());
  else
    builder.setInsertionPointToEnd(scope.block);
  return builder;
}

Scopes::Elements Scopes::addLoop(Location location, Element begin, Element end, Element step, ArrayRef<Element> inits,
                                 llvm::function_ref<Elements(Element, ArrayRef<Element>)> body,
                                 ArrayRef<NamedAttribute> attributes) {
  unsigned depth = getDepth();
  auto valuesOf = [](ArrayRef<Element> elements) {
    return llvm::map_to_vector(elements, [](Element element) { return element.value; });
  };
  auto loop = scf::ForOp::create(at(depth), location, begin.value, end.value, step.value, valuesOf(inits));
  for (NamedAttribute attribute : attributes)
    loop->setAttr(attribute.getName(), attribute.getValue());
  open(loop, loop.getBody());
  Elements carried;
  for (Value argument : loop.getRegionIterArgs())
    carried.push_back({argument, depth + 1});
  Elements yielded = body({loop.getInductionVar(), depth + 1}, carried);
  if (!inits.empty())
    scf::YieldOp::create(at(depth + 1), location, valuesOf(yielded));
  close();
  Elements results;
  for (Value value : loop.getResults())
    results.push_back({value, depth});
  return results;
}

const Element *Scopes::find(const Key &key) const {
  auto found = elements.find(key);
  return found == elements.end() ? nullptr : &found->second;
}

void Scopes::remember(Key key, Element element) {
  scopes[element.depth].keys.push_back(key);
  elements[std::move(key)] = element;
}
