// Limits what one compilation may make of its file: nodes, ops, constant elements, bytes, scalar operations and work.
//
// A model file is untrusted, and a small one can ask for much: 24 functions that call each other twice are 2^24 nodes,
// and a constant of 200 bytes can have 2^40 elements. So everything that copies or evaluates a part of the file takes
// from this object first, for every operator: the importer (inlining, names, attributes, constants, its interpreter) and
// the folders of the dialect. A refusal is an error that names the node, its request and the limit. Weights are not counted, because
// they stay in the file.
//
// Each limit is a base plus a share for each byte of the file. So an honest large file has room, and the cost of a
// small file is bounded. `--budget N` multiplies all limits.
//
//   Budget &budget = Budget::of(context);
//   budget.begin(fileBytes, /*factor=*/1);
//   if (!budget.draw(Budget::Kind::Elements, 1 << 20, "node 'mask' (Trilu)"))
//     return nullptr;                        // the compilation ends with budget.refusal()
//   if (!budget.drawOptional(Budget::Kind::Elements, 4096))
//     return nullptr;                        // nothing is refused: the op stays as it is
//
// Work without which the file cannot be compiled is drawn. Work that only makes the program better, such as the folding
// of an op that could run, is optional: it ends when its share is used up.
//
// The object belongs to the dialect in its context, because a folder sees nothing else. Several threads may use it.
//
// Rejected: a limit for each operator. There were two dozen such limits, each with its own number, and together they
// allowed an unlimited amount.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_BUDGET_H
#define CLEAVE_DIALECTS_CLEAVE_IR_BUDGET_H

#include "mlir/IR/DialectInterface.h"
#include "llvm/ADT/STLFunctionalExtras.h"
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
    Ops,      // that the nodes become
    Elements, // of constants that are evaluated; a splat counts as one
    Bytes,    // of names, attributes and constants that are copied
    Scalars,  // scalar operations on constants, which the importer's interpreter runs
    Work,     // other work: calls, bound names. Messages call its unit a step
  };

  explicit Budget(mlir::Dialect *dialect);
  static Budget &of(mlir::MLIRContext *context);

  // Resets all limits for a file of this size.
  void begin(uint64_t fileBytes, uint64_t factor);
  // Sets the description of the node for which the importer draws. The text must outlive the calls of draw().
  void setAsker(llvm::StringRef asker) { asker_ = asker; }

  // Takes `amount`. Returns false if less is left; from then on nothing is given, and `refusal` says why. An empty
  // asker stands for the importer's node.
  bool draw(Kind kind, uint64_t amount, llvm::StringRef asker = "");
  // The same. `asker` is called only for a refusal, because a description may cost more than what it describes.
  bool draw(Kind kind, uint64_t amount, llvm::function_ref<std::string()> asker);
  // Takes `amount` for work that may be left undone. Returns false if its share has too little left, and refuses
  // nothing. The share is half of the limit, and a request gets at most a sixteenth of what is left of it. So large
  // requests leave something to later small ones.
  bool drawOptional(Kind kind, uint64_t amount);

  bool isExhausted() const { return exhausted_; }
  // Returns the first refusal, as an error message.
  std::optional<std::string> refusal() const;

private:
  // Takes the amount if it is at most `mayTake(what is left)`. Returns nullopt if it is taken, otherwise what is left.
  std::optional<uint64_t> take(Kind kind, uint64_t amount, llvm::function_ref<uint64_t(uint64_t left)> mayTake);
  bool refuse(Kind kind, uint64_t amount, uint64_t left, llvm::StringRef asker);

  static constexpr size_t kKinds = 6;
  std::array<std::atomic<uint64_t>, kKinds> left_;
  std::array<uint64_t, kKinds> limits_;
  llvm::StringRef asker_;
  std::atomic<bool> exhausted_{false};
  mutable std::mutex mutex_; // protects refusal_
  std::string refusal_;
  uint64_t factor_ = 1;
};

} // namespace cleave

#endif
