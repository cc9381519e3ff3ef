// What one compilation may make of its file: nodes, ops, constant elements, bytes and steps.
//
// A model file is untrusted, and a small one can ask for much: 24 functions that call each other twice are 2^24 nodes,
// a constant of 200 bytes can have 2^40 elements. Whatever copies or evaluates a part of the file therefore takes from
// this object first, whatever the operator: the importer (inlining, names, attributes, constants) and the folders of
// the dialect. What is refused is an error that names the node, what it asked for and the limit. Weights are not
// counted: they stay where they lie in the file.
//
// Each limit is a base plus a share for each byte of the file, so that an honest large file has room, and what a
// small file can cost is bounded. `--budget N` multiplies all limits.
//
//   Budget &budget = Budget::of(context);
//   budget.begin(fileBytes, /*factor=*/1);
//   if (!budget.draw(Budget::Kind::Elements, 1 << 20, "node 'mask' (Trilu)"))
//     return nullptr;                        // the compilation ends with budget.refusal()
//
// The object belongs to the dialect in its context, since a folder sees nothing else. It may be used by several threads.
//
// Rejected: a limit for each operator. Two dozen were there, each with its own number, and their products were
// unlimited.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_BUDGET_H
#define CLEAVE_DIALECTS_CLEAVE_IR_BUDGET_H

#include "mlir/IR/DialectInterface.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/Twine.h"

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>

namespace cleave {

class Budget : public mlir::DialectInterface::Base<Budget> {
public:
  enum class Kind {
    Nodes,    // of the graph, after functions are inlined
    Ops,      // that they become
    Elements, // of constants that are evaluated; a splat counts as one
    Bytes,    // of names, attributes and constants that are copied
    Steps,    // other work: calls, bound names
  };

  explicit Budget(mlir::Dialect *dialect);
  static Budget &of(mlir::MLIRContext *context);

  // Starts anew for a file of this size.
  void begin(uint64_t fileBytes, uint64_t factor);
  // Whom the importer draws for: the node's description. The text must outlive the drawing.
  void setAsker(llvm::StringRef asker) { asker_ = asker; }

  // Takes `amount`. False when less is left: nothing more is given then, and `refusal` says why. An empty asker is the
  // importer's node.
  bool draw(Kind kind, uint64_t amount, llvm::StringRef asker = "");
  // The same for the op at this location.
  bool draw(Kind kind, uint64_t amount, mlir::Location asker);

  bool isExhausted() const { return exhausted_; }
  // The first refusal, as an error message.
  std::optional<std::string> refusal() const;

private:
  bool refuse(Kind kind, uint64_t amount, uint64_t left, llvm::StringRef asker);

  static constexpr size_t kKinds = 5;
  std::array<std::atomic<uint64_t>, kKinds> left_;
  std::array<uint64_t, kKinds> limits_;
  llvm::StringRef asker_;
  std::atomic<bool> exhausted_{false};
  mutable std::mutex mutex_; // of refusal_
  std::string refusal_;
  uint64_t factor_ = 1;
};

} // namespace cleave

#endif
