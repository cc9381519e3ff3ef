#include "compiler/Codegen/Loops/Scopes.h"

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

const Element *Scopes::find(const Key &key) const {
  auto found = elements.find(key);
  return found == elements.end() ? nullptr : &found->second;
}

void Scopes::remember(Key key, Element element) {
  scopes[element.depth].keys.push_back(key);
  elements[std::move(key)] = element;
}
