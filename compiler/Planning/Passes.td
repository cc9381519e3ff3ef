// Kernels form to plan form; Pipeline.h puts the passes in order.
#ifndef CLEAVE_PLANNING_PASSES
#define CLEAVE_PLANNING_PASSES
include "mlir/Pass/PassBase.td"

def PlanInPlace : Pass<"plan-in-place", "::mlir::func::FuncOp"> {
  let summary = "decides which kernel results take over an input's buffer";
  let description = [{
    Before: kernels form, kernels not yet named. After: `tied` on every kernel one of whose results may overwrite an input: the kernel is
    element-wise in it, types are equal, nothing that shares its bytes is used later, and it is no port, and a state only when the
    result is what the state becomes. Code generation relies on `tied`; where the planner cannot follow it after all, it copies.
  }];
}

def OffloadValues : Pass<"offload-values", "::mlir::ModuleOp"> {
  let summary = "stores values in host memory between uses that stand far apart";
  let description = [{
    Before: kernels form, forward and backward apart. After: with `residuals`, a forward function returns what it computes and what
    has at least `min-bytes` through `cleave.offload`: it is stored in host memory. So is what a collective
    reduces of an offloaded state (a gradient accumulator that waits for the last micro-batch), where it is used more than once. Whatever else
    `--offload` asks for is said by `cleave.offloaded` on states.

    ```mlir
    func.func @c0.fwd(...) {
      %0 = cleave.kernel ...
      %1 = cleave.offload %0 : tensor<512x512xf32>    // new
      return %1                                       // was: %0
    ```

    The forward function goes on with the value itself. Before `flatten-programs`, after which nobody can tell what crosses to the backward pass;
    after `recompute-blocks`, so that what is computed again is not stored.
  }];
  let options = [Option<"residuals", "residuals", "bool", "false", "offload what the forward pass leaves for the backward pass">,
                 Option<"minBytes", "min-bytes", "uint64_t", "4096", "smaller values stay on the device: an event costs more than they">];
}

def BuildPrograms : Pass<"build-programs", "::mlir::ModuleOp"> {
  let summary = "makes the programs of each stage of a pipeline";
  let description = [{
    Before: kernels form, chunks with forward and backward apart; the module's `cleave.pipeline = {schedule, axis}` says that the chunks are stages along an axis of
    the mesh. Without it nothing changes. After: a module for each stage, as split-kinds leaves them: the first holds the others. Each has the bodies of its chunks, which
    the schedule's list calls (`cleave.calls`), a body for each transfer, the entry @train_step with what the stage does of the update, and what it does of @evaluate. What repeats in the
    list is a loop of its own, so that the number of micro-batches does not matter.

    Of @infer, which has no chunks, the stages do in turn what the cost of its ops gives each of them (InferenceStages.h).

    Values that cross bodies have stage buffers with frames (StagePrograms.h). States are on the stages that use them (StageSplit.h).

    ```mlir
    func.func @train_step(...) attributes {cleave.calls = [{program = "c0.fwd.first", times = 1, first_frame = 0}, {program = "send.c0:0.to.1", ...},
                                                           {program = "loop.0", times = 6, first_frame = 1}, ...]}
    func.func @loop.0() attributes {cleave.calls = [{program = "recv.c0:0.grad.c1", times = 1, first_frame = 0}, {program = "c0.bwd", ...},
                                                    {program = "c0.fwd", times = 1, first_frame = 2}, ...]}
    ```
  }];
  let dependentDialects = ["::mlir::ub::UBDialect"];
}

def FlattenPrograms : Pass<"flatten-programs", "::mlir::ModuleOp"> {
  let summary = "makes one function of every program that the plan will have";
  let description = [{
    Before: @infer, or @c0.fwd, @c0.bwd, @update (and @evaluate); with more than one micro-batch also @c0.fwd.first and @c0.bwd.first.
    After: entries (`cleave.entry`) @infer, @train_step, @evaluate; the stages of a pipeline stay as build-programs has made them. With one micro-batch @train_step is forward, backward and update in
    one body, in which the collectives and computations of the backward pass carry `cleave.backward`. With M it only calls (`cleave.calls`): @micro.first once, @micro M - 2 times, @micro.last once, each in its own frame of the
    inputs; @micro.last ends with the update, so that its collectives overlap the last backward pass.
  }];
}

def ShareGathers : Pass<"share-gathers", "::mlir::func::FuncOp"> {
  let summary = "keeps a gathered part for all of a program's uses";
  let description = [{
    Before: flattened programs. After: of the all_gathers of one program that gather the same (the same operand, or the same ops of reads that
    see the same write) the first is left, and its buffer lives until the last use of any.

    This is the difference of shard-grad-op and full-shard: one body holds forward and backward, so that a unit's parameters are kept from one to the
    other. It is a choice between traffic (2/3) and memory (the whole model), so it has a pass of its own: CSE would take it wherever it runs, since
    the shard dialect's collectives are pure, and is kept from it by `cleave.instance`, which this pass alone overlooks.

    ```mlir
    %0 = cleave.read @w : tensor<8xf32>
    %1 = shard.all_gather %0 ... {cleave.instance = 0 : i64}                    // forward
    %2 = cleave.read @w : tensor<8xf32>
    %3 = shard.all_gather %2 ... {cleave.backward, cleave.instance = 7 : i64}   // goes away, its users take %1
    ```
  }];
}

def KeepGathers : Pass<"keep-gathers", "::mlir::ModuleOp"> {
  let summary = "gathers parameters once a step, for all micro-batches of a pipeline";
  let description = [{
    What share-gathers does where forward and backward are one body, for the stages of a pipeline, whose bodies are apart. Before: kernels form with `cleave.pipeline`. After: what chunk N's
    functions gather of states that no chunk writes is gathered by @cN.gather, which runs before the chunk's first micro-batch and leaves it in states @cN.gathered.I (role
    buffer, slot "gathered": no checkpoint has them). All micro-batches' forward and backward passes read these. A step gathers each unit once, instead of twice a micro-batch; a stage holds all its
    parameters whole, which the memory table counts.

    ```mlir
    func.func @c0.fwd(...) {
      %0 = cleave.read @w : tensor<4xf32>
      %1 = shard.all_gather %0 ... : tensor<4xf32> -> tensor<8xf32>       =>      %1 = cleave.read @c0.gathered.0 : tensor<8xf32>
    ```
  }];
}

def SplitKinds : Pass<"split-kinds", "::mlir::ModuleOp"> {
  let summary = "makes a module of every kind of ranks";
  let description = [{
    Before: flattened programs, for all ranks together; `cleave.kinds` on the module where there are several kinds (dialects/Cleave/IR/RankKinds.h). After: the
    module is that of the first kind, and holds one module for each other kind, by its name. Each has what its ranks do: a state that is stored with
    owners is with its owners only, a value that only owners have is computed by them, a reduce gives the others nothing and a broadcast takes nothing of them.
    With one kind nothing changes.

    ```mlir
    %0 = cleave.read @g                                    // @server, where dp is 0        // @worker, where it is not
    %1 = shard.reduce %0 ... root = [0]                    %1 = shard.reduce %0             shard.reduce %0
    %2 = cleave.kernel @sgd(%w, %1)                 =>     %2 = cleave.kernel @sgd(%w, %1)
    %3 = shard.broadcast %2 ... root = [0]                 %3 = shard.broadcast %2          %3 = shard.broadcast of nothing
    cleave.write %3, @w                                    cleave.write %3, @w              cleave.write %3, @w
    ```
  }];
  let dependentDialects = ["::mlir::ub::UBDialect"];
}

def BuildPlan : Pass<"build-plan", "::mlir::ModuleOp"> {
  let summary = "decides order, streams, events and addresses";
  let description = [{
    Before: kernels form, flattened; no function calls itself (`cleave.calls`), directly or in a circle. After: plan form, nothing of the other dialects is left. The compute stream keeps program order;
    reductions go to stream `reduce`, right after what they wait for; gathers go to stream `gather`, those of stored parts at a bounded
    distance before their use (Prefetch.h). What carries `cleave.offloaded` or is made by `cleave.offload` lies in regions of the host; copies of what is used
    of them go to stream `copy` by the same rules as gathers, and copies back right after what they wait for (DraftOffload.cpp).
    With `snapshot` there is one more program of that name, which copies every saved state into the region `state_copy`. Modules of
    further kinds are planned likewise, each for itself.
  }];
  let options = [Option<"target", "target", "std::string", "\"host\"", "target written into the header">,
                 Option<"threads", "threads", "int64_t", "1", "compute threads of a rank">,
                 Option<"snapshot", "snapshot", "bool", "false", "add the program that copies all that a checkpoint holds">,
                 Option<"forwardPrefetch", "forward-prefetch", "bool", "true", "issue a unit's gather before the unit before it computes">,
                 Option<"backwardPrefetch", "backward-prefetch", "::cleave::plan::BackwardPrefetch",
                        "::cleave::plan::BackwardPrefetch::Pre", "when the backward pass issues the next unit's gather",
                        [{::llvm::cl::values(
                          clEnumValN(::cleave::plan::BackwardPrefetch::Pre, "pre", "before this unit computes and is reduced"),
                          clEnumValN(::cleave::plan::BackwardPrefetch::Post, "post", "when this unit has computed"),
                          clEnumValN(::cleave::plan::BackwardPrefetch::None, "none", "at its first use"))}]>,
                 Option<"gathersInFlight", "gathers-in-flight", "unsigned", "2", "gathered units in memory at a time">];
  let dependentDialects = ["::cleave::plan::PlanDialect"];
}

def VerifyPlan : Pass<"verify-plan", "::mlir::ModuleOp"> {
  let summary = "proves that the plan neither hangs nor races";
  let description = [{
    Writes the plan as bytes, opens them as the runtime does (which proves that kernels stay within their buffers), and runs
    PlanVerifier.h. Every finding becomes an error. Changes nothing.
  }];
  let options = [Option<"byHand", "by-hand", "bool", "false",
                        "of a plan written by hand, which does not state what it computes">];
}

#endif
