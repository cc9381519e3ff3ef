// Runs one entry function of one kind of ranks, in the abstract, over the contents of its values (ValueMeaning.h).
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_MODEL_VALUERUN_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_MODEL_VALUERUN_H

#include "compiler/Planning/Verify/Model/ValueFacts.h"
#include "compiler/Planning/Verify/Model/ValueMeaning.h"
#include "compiler/Planning/Verify/Values/Bodies.h"
#include "compiler/Planning/Verify/Values/MemoryContents.h"
#include "dialects/Cleave/IR/Attributes.h"

namespace cleave::plan {

// True if values cross bodies or ranks. Then calls are not run, and bodies are examined by themselves (Bodies.h).
bool hasBodies(mlir::ModuleOp module);
KindBox boxOf(const ModulePlan &plan);
// Meanings of bodies, by name.
using BodyMeanings = std::map<std::string, EntryMeaning>;

class ValueRun : public MeaningRun {
public:
  // With `bodies`, calls are not run: an entry goes on with what these bodies, which were run before, have left. All
  // kinds that are alike do the same (AlikeKinds.h).
  ValueRun(mlir::ModuleOp module, const ModulePlan &plan, mlir::func::FuncOp entry,
           const BodyMeanings *bodies = nullptr, const KindBox &firstAlike = {});

  KindBox box() const { return boxOf(plan); }
  const Stop *advance() override;
  void deliver(const std::optional<Content> &result) override;

  // Returns the meaning after the run. `outlives` tells whether a later program finds a state as this one leaves it.
  // Fails if an op has no meaning.
  mlir::FailureOr<EntryMeaning> take(llvm::function_ref<bool(StateOp)> outlives);

private:
  struct Body {
    mlir::func::FuncOp function;
    uint64_t frame;
  };
  // Facts of an op, the same in every run of it.
  struct Known {
    std::vector<uint64_t> depends;
    ValueNumber number;
    std::optional<size_t> checked; // the operand that it checks
  };

  bool isBody() const { return bodies && !entry->hasAttr(kEntryAttr); }
  void expand(mlir::func::FuncOp function, uint64_t frame);
  void leaveAfterCalls(mlir::func::FuncOp callee);
  MemoryContents &crossBody(int64_t frames, bool isHost);
  void transferAlone();
  void meetAlone();
  void begin(mlir::func::FuncOp function, uint64_t frame);
  bool run(mlir::Operation *op, uint64_t frame); // true: other kinds are needed
  const llvm::SmallVector<ByteView> &viewsOf(mlir::Operation *op);
  void runViews(mlir::Operation *op, llvm::ArrayRef<ByteView> views);
  KernelComputation computationOf(cleave::KernelOp kernel) const;
  void runKernel(cleave::KernelOp kernel);
  void runLibrary(mlir::Operation *op);
  void runReturn(mlir::func::ReturnOp op, uint64_t frame);
  void addResults(mlir::Operation *op, const Known &known);
  bool startCollective(mlir::Operation *op);
  void finishCollective(mlir::Operation *op, const std::optional<Content> &result);

  // Start a collective or a transfer. True: other kinds are needed.
  template <typename Op> bool reduce(Op op, rt::Opcode opcode);
  bool start(mlir::Operation *op, rt::Opcode opcode, llvm::ArrayRef<int16_t> axes, int64_t count);
  bool transfer(mlir::Operation *op, rt::Opcode opcode, llvm::ArrayRef<int16_t> axes,
                std::optional<llvm::ArrayRef<int64_t>> peer);
  void setRoot(mlir::Operation *op, llvm::ArrayRef<int16_t> axes, llvm::ArrayRef<int64_t> root);
  const AxesFacts &axesOf(llvm::ArrayRef<int16_t> axes) const;
  Content padded(mlir::Value value, uint64_t ranks) const;

  PortFacts portOf(mlir::Type type, mlir::DictionaryAttr attributes, const std::string &otherwise) const;
  Content of(mlir::Value value);
  void set(mlir::Value value, Content content) { values[value] = std::move(content); }
  void leave(const Content &content) {
    if (content.bytes() != 0)
      expressions.push_back(static_cast<uint32_t>(content.pieces().front().expression.low));
  }
  void fail(mlir::Operation *op, const llvm::Twine &why) {
    op->emitOpError("has no meaning: ") << why;
    failure = true;
  }

  mlir::ModuleOp module;
  const ModulePlan &plan;
  mlir::func::FuncOp entry;
  MeshAttr mesh;
  const BodyMeanings *bodies;
  KindBox firstAlike;
  std::vector<Body> runs;                                   // in the order in which they run
  size_t next = 0;                                          // the next of these
  mlir::Operation *current = nullptr, *following = nullptr; // in the body that runs
  uint64_t frame = 0;                                       // the frame of that body
  std::string calls;
  ValueNumber history;                         // of calls (Bodies.h)
  llvm::StringMap<Content> states, starts;     // as they are, and as they were when the entry began
  llvm::DenseMap<mlir::Value, Content> values; // of the body that runs
  std::map<std::pair<int64_t, bool>, MemoryContents> crossBodyMemories; // of stage buffers; by frames, isHost
  Messages messages;
  llvm::StringMap<Known> kernels; // generated, by label
  llvm::DenseMap<mlir::Operation *, Known> libraries;
  mutable std::map<std::vector<int16_t>, AxesFacts> axes; // by their numbers
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<ByteView>> views;
  Meaning outputs;
  std::vector<uint32_t> expressions;
  Checks checks;
  Stop stop;
  bool failure = false;
};

} // namespace cleave::plan

#endif
