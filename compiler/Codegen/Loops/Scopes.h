// Places the code of a loop nest. Every value is emitted in the outermost loop in which all its operands are known, so
// that no inner loop has invariant code, and a value is emitted there only once.
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

// A scalar in the emitted code, and the depth of the loop in which it is emitted.
struct Element {
  mlir::Value value;
  unsigned depth = 0;
};

class Scopes {
public:
  explicit Scopes(mlir::Block *entry) : builder(entry, entry->end()) { scopes.push_back({entry, nullptr, {}}); }

  unsigned getDepth() const { return scopes.size() - 1; }
  // Opens the scope `body`. `inner` is the op of the present scope that contains it.
  void open(mlir::Operation *inner, mlir::Block *body);
  void close();
  mlir::OpBuilder &at(unsigned depth);

  // Emits a loop in the present scope, with `attributes`, and returns the values that it carries when it ends. `body`
  // emits what it does with them: its scope is open, so that elements that depend on the index are emitted in it, and
  // forgotten after it.
  using Elements = llvm::SmallVector<Element>;
  Elements addLoop(mlir::Location location, Element begin, Element end, Element step, llvm::ArrayRef<Element> inits,
                   llvm::function_ref<Elements(Element index, llvm::ArrayRef<Element> carried)> body,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {});

  // Elements that were emitted before, in a scope that is still open. A tensor and indices identify an element.
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
