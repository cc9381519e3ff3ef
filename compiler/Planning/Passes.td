// Passes from kernels form to plan form. Pipeline.h has their order.
#ifndef CLEAVE_PLANNING_PASSES
#define CLEAVE_PLANNING_PASSES
include "mlir/Pass/PassBase.td"

def PlanInPlace : Pass<"plan-in-place", "::mlir::func::FuncOp"> {
  let summary = "decides which kernel results take over an input's buffer";
  let description = [{
    Before: kernels form, in which kernels do not have names yet. After: a kernel has `tied` if one of its results may overwrite an
    input. The conditions are: the kernel is element-wise in this input; both have the same type; no value that shares the
    input's bytes is used later; the input is not a port; and if it is a state, the result is the state's new value. Code
    generation relies on `tied`. If planning cannot use the same buffer after all, it copies the input.
  }];
}

def OffloadValues : Pass<"offload-values", "::mlir::ModuleOp"> {
  let summary = "stores values in host memory between uses that are far apart";
  let description = [{
    Before: kernels form, in which forward and backward pass are separate functions. After: with `residuals`, a forward function
    returns each value that it computes and that has at least `min-bytes` through `cleave.offload`, so the value is stored in
    host memory. The result of a collective that reduces an offloaded state (a gradient accumulator that waits for the last
    micro-batch) is stored there too, if it is used more than once. `cleave.offloaded` on states has everything else that
    `--offload` requests.

    ```mlir
    func.func @c0.fwd(...) {
      %0 = cleave.kernel ...
      %1 = cleave.offload %0 : tensor<512x512xf32>    // new
      return %1                                       // was: %0
    ```

    The forward function itself continues to use %0. The pass runs before `flatten-programs`, because afterwards the values that
    cross to the backward pass cannot be recognized. It runs after `recompute-blocks`, so that values that are computed again
    are not stored.
  }];
  let options = [Option<"residuals", "residuals", "bool", "false", "offload the values that the forward pass keeps for the backward pass">,
                 Option<"minBytes", "min-bytes", "uint64_t", "4096", "smaller values stay on the device, because an event costs more than their memory">];
}

def BuildPrograms : Pass<"build-programs", "::mlir::ModuleOp"> {
  let summary = "makes the programs of each stage of a pipeline";
  let description = [{
    Before: kernels form, in which the forward and backward pass of each chunk are separate functions. The module's
    `cleave.pipeline = {schedule, axis}` says that the chunks are stages along an axis of the mesh. Without it nothing changes.

    After: a module for each stage. As after split-kinds, the first module holds the others. Each module has the bodies of its
    chunks, which the schedule's list calls (`cleave.calls`), a body for each transfer, the entry @train_step with the stage's
    part of the update, and the stage's part of @evaluate. Calls that repeat in the list become a loop, which is a program of
    its own. So the size of the list does not depend on the number of micro-batches.

    @infer has no chunks. The stages run parts of it one after the other. The cost of its ops decides which part a stage runs
    (InferenceStages.h).

    Values that cross bodies have stage buffers with frames (StagePrograms.h). States are on the stages that use them
    (StageSplit.h).

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
    After: the entries (`cleave.entry`) @infer, @train_step, @evaluate. The stages of a pipeline stay as build-programs has made
    them. With one micro-batch, @train_step is one body with forward pass, backward pass and update. Its collectives and
    computations of the backward pass have `cleave.backward`. With M micro-batches, @train_step has only calls
    (`cleave.calls`): @micro.first once, @micro M - 2 times, and @micro.last once, each in its own frame of the inputs.
    @micro.last ends with the update, so that the update's collectives overlap with the last backward pass.
  }];
}

def ShareGathers : Pass<"share-gathers", "::mlir::func::FuncOp"> {
  let summary = "keeps a gathered part for all of a program's uses";
  let description = [{
    Before: flattened programs. After: if several all_gathers of a program gather the same value, only the first remains, and its
    buffer lives until the last use of all of them. They gather the same value if they have the same operand, or if their
    operands are computed by the same ops from reads that see the same write.

    This is the difference between shard-grad-op and full-shard: one body has forward and backward pass, and a unit's parameters
    are kept from the one to the other. It is a choice between less traffic (2/3) and less memory (than the whole model), so it
    has its own pass. CSE would merge the all_gathers wherever it runs, because the shard dialect's collectives are pure.
    `cleave.instance` prevents this. Only this pass ignores it.

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
    This pass does for the stages of a pipeline what share-gathers does if forward and backward pass are one body. In a pipeline
    they are separate bodies. Before: kernels form with `cleave.pipeline`. After: states that no chunk writes are gathered by
    @cN.gather, and no longer by the other functions of chunk N. @cN.gather runs before the chunk's first micro-batch, and
    writes the values to states @cN.gathered.I (role buffer, slot "gathered"; checkpoints do not have them). The forward and
    backward passes of all micro-batches read these states. So a step gathers each unit once, instead of twice for each
    micro-batch. But a stage has all its parameters whole, and the memory table counts them.

    ```mlir
    func.func @c0.fwd(...) {
      %0 = cleave.read @w : tensor<4xf32>
      %1 = shard.all_gather %0 ... : tensor<4xf32> -> tensor<8xf32>       =>      %1 = cleave.read @c0.gathered.0 : tensor<8xf32>
    ```
  }];
}

def SplitKinds : Pass<"split-kinds", "::mlir::ModuleOp"> {
  let summary = "makes a module for each kind of ranks";
  let description = [{
    Before: flattened programs, for all ranks together. If there are several kinds, the module has `cleave.kinds`
    (dialects/Cleave/IR/RankKinds.h). After: the module is that of the first kind, and holds one module for each other kind,
    with the kind's name. Each module has only what its ranks do. A state with owners exists only in the module of its owners.
    A value that only owners have is computed only there. In the modules of the others, a reduce has no result, and a broadcast
    has no operand. With one kind nothing changes.

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
    Before: kernels form, flattened. No function calls itself (`cleave.calls`), directly or indirectly. After: plan form, without ops
    of other dialects. The compute stream keeps program order. Reductions are on stream `reduce`, right after the instructions
    for which they wait. Gathers are on stream `gather`. Gathers of stored parts are at a bounded distance before their use
    (Prefetch.h). States with `cleave.offloaded` and results of `cleave.offload` are in regions of the host. Copies of the
    bytes that are used are on stream `copy`, by the same rules as gathers. Copies back to the host are right after the
    instructions for which they wait (HostCopies.h). With `snapshot`, there is one more program of that name, which copies
    every saved state to the region `state_copy`. The modules of other kinds are planned in the same way, each separately.
  }];
  let options = [Option<"target", "target", "std::string", "\"host\"", "target written into the header">,
                 Option<"threads", "threads", "int64_t", "1", "compute threads of a rank">,
                 Option<"snapshot", "snapshot", "bool", "false", "add the program that copies every state that a checkpoint has">,
                 Option<"forwardPrefetch", "forward-prefetch", "bool", "true", "issue a unit's gather before the previous unit computes">,
                 Option<"backwardPrefetch", "backward-prefetch", "::cleave::plan::BackwardPrefetch",
                        "::cleave::plan::BackwardPrefetch::Pre", "when the backward pass issues the next unit's gather",
                        [{::llvm::cl::values(
                          clEnumValN(::cleave::plan::BackwardPrefetch::Pre, "pre", "before this unit computes and is reduced"),
                          clEnumValN(::cleave::plan::BackwardPrefetch::Post, "post", "after this unit has computed"),
                          clEnumValN(::cleave::plan::BackwardPrefetch::None, "none", "at its first use"))}]>,
                 Option<"gathersInFlight", "gathers-in-flight", "unsigned", "2", "the most gathered units in memory at the same time">];
  let dependentDialects = ["::cleave::plan::PlanDialect"];
}

def KeepProvenNeeds : Pass<"keep-proven-needs", "::mlir::ModuleOp"> {
  let summary = "drops what the plan says about needed inputs where the proof cannot follow it";
  let description = [{
    A property `needs.OUTPUT` names the inputs on which an output of `infer` depends. The model tells them for each value. The proof
    is coarser: it takes the values that one collective reduces for one value. A property that it cannot follow is dropped
    (StatedNeeds.h). Then the host asks for all inputs when somebody wants this output.
  }];
}

def VerifyPlan : Pass<"verify-plan", "::mlir::ModuleOp"> {
  let summary = "proves that the plan neither hangs nor races, and computes what it states";
  let description = [{
    Writes the plan as bytes, opens them as the runtime does, which proves that kernels stay within their buffers, and then runs
    PlanVerifier.h. Every finding is reported as an error. Changes nothing.
  }];
  let options = [Option<"byHand", "by-hand", "bool", "false",
                        "the plan is written by hand, and does not state what it computes">];
}

#endif
