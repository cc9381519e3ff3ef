// Where code of a loop nest is placed: every value is emitted in the outermost loop that knows all it depends on, so
// that nothing invariant stays in an inner loop, and is emitted there once.
//
//   Scopes scopes(entryBlock);
//   scopes.open(loop, loop.getBody());        // depth 1
//   scopes.at(0)                              // a builder before the loop
//   scopes.at(1)                              // a builder at the end of its body
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_SCOPES_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_SCOPES_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVector.h"

#include <map>
#include <vector>

namespace cleave {

// A scalar in the emitted code, and the depth of the loop it lives in.
struct Element {
  mlir::Value value;
  unsigned depth = 0;
};

class Scopes {
public:
  explicit Scopes(mlir::Block *entry) : builder(entry, entry->end()) { scopes.push_back({entry, nullptr, {}}); }

  unsigned getDepth() const { return scopes.size() - 1; }
  // `inner` is the op of this scope that holds the next one.
  void open(mlir::Operation *inner, mlir::Block *body);
  void close();
  mlir::OpBuilder &at(unsigned depth);

  // Emitted before, in a scope still open: tensor and indices name an element.
  using Key = std::vector<const void *>;
  const Element *find(const Key &key) const;
  void remember(Key key, Element element);

private:
  struct Scope {
    mlir::Block *block;
    mlir::Operation *inner;
    std::vector<Key> keys;
  };
  mlir::OpBuilder builder;
  std::vector<Scope> scopes;
  std::map<Key, Element> elements;
};

} // namespace cleave

#endif
