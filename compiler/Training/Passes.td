// Passes from the model level to the step level. dialects/Cleave/IR/Rationale.md says what holds at both levels.
// Pipeline.cpp has the order of the passes.
#ifndef CLEAVE_TRAINING_PASSES
#define CLEAVE_TRAINING_PASSES
include "mlir/Pass/PassBase.td"

def BuildInference : Pass<"build-inference", "::mlir::ModuleOp"> {
  let summary = "turns @model into @infer";
  let description = [{
    Before: model level; a loss is not necessary. After: step level. @infer has the inputs and outputs of @model. If the importer
    made @model.eval, @infer is made from it instead of @model, and @model.eval is gone. @infer writes no state, because
    running statistics belong to training.
  }];
}

def TieParameters : Pass<"tie-parameters", "::mlir::ModuleOp"> {
  let summary = "merges parameters that are meant to be the same tensor";
  let description = [{
    A pair "kept=tied" has two original names. Reads of the tied parameter become reads of the kept parameter, and are transposed
    if the shapes of the two matrices require it. The tied name, and its aliases, become aliases of the kept segment. The state
    of the tied parameter is removed.
  }];
  let options = [ListOption<"pairs", "pairs", "std::string", "original names, KEPT=TIED">];
}

def AssignParameterGroups : Pass<"assign-parameter-groups", "::mlir::ModuleOp"> {
  let summary = "marks frozen parameters and numbers the parameter groups";
  let description = [{
    Patterns are globs over original names and aliases. The pass sets `frozen` on states, `group` in segments, and the module's
    `cleave.param_groups`, a list of {name, lr_scale[, weight_decay]}. A pattern that matches no name is an error, because it
    is probably a typing mistake.
  }];
  let options = [ListOption<"freeze", "freeze", "std::string", "patterns of parameters without a gradient">,
                 Option<"groups", "groups", "std::string", "", "groups, separated by `;`: PATTERN[|PATTERN]:key=value[,key=value]">];
}

def SplitLoss : Pass<"split-loss", "::mlir::ModuleOp"> {
  let summary = "writes the loss as a sum and a count";
  let description = [{
    Before: @model (and @model.eval) have a scalar result with `cleave.loss`. After: @model has only two results, the sum and the
    count (`cleave.loss_sum`, `cleave.loss_count`). @model.eval has them in addition to its other results. With
    loss-average=rank and R data ranks, @model's sum and count are vectors of R entries, one for the samples of each rank.

    The count of a mean is the number of its samples, so a step gives the mean over all its micro-batches. A loss that is a sum
    over samples becomes (M * sum, 1), so that it is summed over M micro-batches. `cleave.loss_reductions` on the result says
    that it is such a sum, or its constants do (LossReduction.h). A loss of several terms is weighted term by term: a sum over
    samples by M, a mean by 1, and a penalty on weights counts once. Any other loss becomes (loss * batch, batch), with a
    remark:

    ```mlir
    %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>            %m = cleave.mul %s, %three : tensor<f32>
    %r = cleave.mul %norm, %weight : tensor<f32>                       =>    %w = cleave.add %m, %r : tensor<f32>
    %l = cleave.add %s, %r : tensor<f32>                                     %b = cleave.mul %w, %eight : tensor<f32>
    return %l : tensor<f32>                                                  return %b, %eight : tensor<f32>, tensor<f32>
    ```
  }];
  let options = [Option<"lossAverage", "loss-average", "std::string", "\"global\"", "global | rank">,
                 Option<"dataRanks", "data-ranks", "int64_t", "1", "ranks over which the samples are split">,
                 Option<"microBatches", "micro-batches", "int64_t", "1", "micro-batches of a step">];
}

def ApplyPrecision : Pass<"apply-precision", "::mlir::ModuleOp"> {
  let summary = "chooses the types in which parameters and activations are stored";
  let description = [{
    Before: the model's types. After: parameters have the type `param`, and buffers the type `buffer`. Products have operands and
    results of type `param`. All other ops compute in f32, and values that are kept are rounded. ApplyPrecision.cpp says which
    values are kept. A frozen parameter keeps the model's type, and is cast to `param` after it is read. Inputs and results of
    functions keep their types.

    ```mlir
    %w = cleave.read @w : tensor<4x3xf32>                                       %w = cleave.read @w : tensor<4x3xbf16>
    %y = cleave.matmul %x, %w : tensor<2x4xf32>, ... -> tensor<2x3xf32>   =>    %n = cleave.cast %x : tensor<2x4xf32> -> tensor<2x4xbf16>
    %s = cleave.sigmoid %y : tensor<2x3xf32>                                    %y = cleave.matmul %n, %w : ... -> tensor<2x3xbf16>
                                                                                %f = cleave.cast %y : tensor<2x3xbf16> -> tensor<2x3xf32>
                                                                                %s = cleave.sigmoid %f : tensor<2x3xf32>
    ```
  }];
  let options = [Option<"precision", "precision", "std::string", "\"\"", "PART=TYPE[,PART=TYPE], parts param, reduce, buffer; types f32, bf16, fp16">];
}

def ShiftRandomOrigins : Pass<"shift-random-origins", "::mlir::ModuleOp"> {
  let summary = "makes random numbers independent of the split into micro-batches";
  let description = [{
    With M micro-batches, random_uniform of @model begins at sample scalar.micro * samples, and @model counts scalar.micro. So the
    numbers of a sample do not depend on the split into micro-batches. SampleDims.h says which dimension has the samples. It
    may be any dimension. If there is none, the first dimension that has room for a batch is taken. A dropout of weights, or
    numbers without such a dimension, stay as they are. With R data ranks, `samples` are those of one rank. In the global
    batch, the micro-batches of a rank are neighbours, so tensor<R*rows x ..> is drawn as tensor<R x rows x ..> of global shape
    [R, M*rows, ..]. With one micro-batch nothing changes.

    ```mlir
    %u = cleave.random_uniform %seed, %step {global_shape = array<i64: 3, 4>}          %u = cleave.random_uniform %seed, %step origin %o {global_shape = array<i64: 3, 8>}
           : ... -> tensor<3x4xf32>                                             =>           : ... -> tensor<3x4xf32>     // %o = [0, scalar.micro * 4]
    ```
  }];
  let options = [Option<"microBatches", "micro-batches", "int64_t", "1", "micro-batches of a step">,
                 Option<"dataRanks", "data-ranks", "int64_t", "1", "ranks with different samples">];
}

def DeferStatistics : Pass<"defer-statistics", "::mlir::ModuleOp"> {
  let summary = "adds up batch norm's statistics over the micro-batches of a step";
  let description = [{
    Before: in @model, each `cleave.normalize` with running statistics has the mark `cleave.statistics` (Attributes.def). After:
    there are no such marks. With `deferred`, @model does not write the running mean and variance. Instead it adds to two sums
    (states of slot "sum", which are zero at the beginning of each step). `cleave.deferred` on the state of the running mean
    tells build-update how to compute both from the sums (DeferStatistics.cpp).
  }];
  let options = [Option<"deferred", "deferred", "bool", "false", "update running statistics once a step">,
                 Option<"microBatches", "micro-batches", "int64_t", "1", "micro-batches of a step">];
}

def RequestStages : Pass<"request-stages", "::mlir::ModuleOp"> {
  let summary = "requests chunks from cut-model, which then all run on one rank";
  let description = [{
    Sets the module's `cleave.stages` and `cleave.stage_split`, which `cut-model` follows if its own options are not given. Sets
    `cleave.split_backward`, on which `split-backward` works. The pass is for tests of the cut: several chunks on one rank
    must compute the same as the whole model. Insert it after import: `--insert import=request-stages{stages=3}`.
  }];
  let options = [Option<"stages", "stages", "int64_t", "1", "number of chunks">,
                 Option<"split", "split", "std::string", "\"auto\"", "as for cut-model">,
                 Option<"splitBackward", "split-backward", "bool", "false", "split each backward pass">];
}

def CutModel : Pass<"cut-model", "::mlir::ModuleOp"> {
  let summary = "cuts @model into chunks, the stages of a pipeline";
  let description = [{
    Before: @model with results (sum, count). After: @c0 ... @cN-1, one function for each stage, and no @model. A value that one
    chunk computes and later chunks use is an edge (`cleave.edge`, StepFunctions.h). It is a result of the chunk and an
    argument of each user, over any distance. An input of the model is an argument of each chunk that uses it, and of the last
    chunk if none does. Constants, parameters, and values that are computed only from these are in each chunk that uses them.
    So several chunks may read a tied parameter. A state that the forward pass changes is in one chunk, together with all its
    reads. The counter of micro-batches has a copy for each chunk that uses it. The last chunk returns the sum and the count.

    compiler/Pipeline/Cut.h decides where to cut, based on the order of the operations in @model. With one stage, @model stays
    as it is.
  }];
  let options = [Option<"stages", "stages", "int64_t", "0", "number of chunks; 0: the number that request-stages has set, or 1">,
                 Option<"split", "split", "std::string", "\"auto\"", "(auto | uniform | parameters)[,NAME=STAGE...] | pattern=P[|P...]">,
                 Option<"microBatches", "micro-batches", "int64_t", "1", "micro-batches of a step, over which the update's time is spread">,
                 ListOption<"boundaries", "at", "std::string", "names of the operations with which stages 1, 2, ... begin, or of their parameters">,
                 ListOption<"pins", "pins", "std::string", "NAME=STAGE">];
}

def Differentiate : Pass<"differentiate", "::mlir::ModuleOp"> {
  let summary = "appends the backward pass to @model, which becomes @c0, or to each chunk";
  let description = [{
    Before: @model with results (sum, count), or the chunks of cut-model. After: @c0 has one more argument, the gradient of the
    sum (`cleave.seed`), and no result. It adds sum and count to scalar.loss_sum and scalar.loss_count. It adds the gradient of
    each parameter @w that has one, in the type `reduce`, to the state @w.grad. With several micro-batches, the state is f32 at
    least, and `cleave.term_type` is the type of what is added. The ops that depend on the seed, directly or
    indirectly, are the backward pass. `choose-residuals` cuts there. With a loss scale, the seed is multiplied by
    scalar.loss_scale, and divided by the count as far as it is already known (LossScale.h).

    Each chunk @cN becomes such a function. For an edge that it computes, the chunk gets the gradients of the users as arguments
    (`cleave.cotangent`), and adds them, the last user's first. For an edge that it uses, it returns the gradient. A parameter
    that several chunks use has an accumulator for each: @w.grad in the last chunk, and @w.grad.cN in the others.
    `build-update` adds them.

    The pass visits the ops that depend on a trainable parameter, in reverse topological order. Contributions to the gradient of
    one value are added in the order of these visits: the last user's first. The pass treats only `read` in a special way: the
    gradient of its result is added to the gradient state.
  }];
  let options = [Option<"lossAverage", "loss-average", "std::string", "\"global\"", "global | rank">,
                 Option<"microBatches", "micro-batches", "int64_t", "1", "micro-batches of a step">,
                 Option<"reduce", "reduce", "std::string", "\"\"", "type of gradient states: f32, bf16, fp16; empty: the parameter's">,
                 Option<"lossScale", "loss-scale", "std::string", "\"auto\"", "dynamic[,key=value...] | NUMBER | none | auto">];
}

def FindBlocks : Pass<"find-blocks", "::mlir::ModuleOp"> {
  let summary = "finds the model's repeated blocks by their structure, and numbers them";
  let description = [{
    Blocks.h finds the blocks in the forward half of @c0 (before differentiation, and for inference: in @model or @infer). Blocks
    consist of the ops that depend on parameters and inputs, and on which the loss or a result depends. Masks, weights and
    random numbers belong to the block of their users. Running statistics belong to the block of the values from which they
    are computed.

    After: ops of block N have `cleave.block = N : i64`. Ops of no block (embedding, head, loss; constants of several blocks) do
    not have it. The attribute stays on the ops of the forward functions down to kernels form. A parameter's state has it if
    all ops that read the parameter are in the same block. A parameter that two blocks share, or a block and the embedding,
    does not have it, because it belongs to the whole model. The module has the number of blocks, `cleave.blocks`. Nothing
    else changes.
  }];
}

def FormBuckets : Pass<"form-buckets", "::mlir::ModuleOp"> {
  let summary = "combines gradients, and their parameters, into buckets";
  let description = [{
    Gradient states of one element type and parameter type become buckets (Buckets.h says which), in the order in which @c0
    completes the gradients. A bucket is read once, and reads of its members become slices and reshapes of it. Writes become
    one concat. Parameters with a gradient get buckets of the same segments. All other parameters stay separate states.

    With `split-parameters`, frozen parameters get buckets too. Parameters that all their readers cast to the same narrower type
    then share buckets, and the bucket is cast before it is sliced. So a rank casts its part, and the narrow part is gathered.
    If assign-units has numbered parameters, buckets follow units: each bucket has all members of its unit that are of one
    kind.
  }];
  let options = [Option<"bucketBytes", "bucket-bytes", "int64_t", "26214400", "a bucket is closed when it reaches this size">,
                 Option<"firstBucketBytes", "first-bucket-bytes", "int64_t", "1048576", "the same for the first bucket of a kind">,
                 Option<"dataRanks", "data-ranks", "int64_t", "1", "buckets are padded to a multiple of this times 32 elements">,
                 Option<"splitParameters", "split-parameters", "bool", "false", "buckets are for parameters that are stored split">,
                 Option<"sumsWhole", "sums-whole", "bool", "false", "add to a whole gradient bucket at once, because it is reduced in every micro-batch">];
}

def AssignUnits : Pass<"assign-units", "::mlir::ModuleOp"> {
  let summary = "assigns parameters to units, which are gathered together";
  let description = [{
    Sets `cleave.unit` on states of parameters. Unit 0 is the resident unit, which is needed all the time. With `auto`, units
    follow blocks, uses and sizes (Units.h). With `pattern=P[|P...]`, each prefix of a parameter's name that matches P is a
    unit, which has all parameters with this prefix. P is matched component by component, and `*` is any one component. For
    example, `blocks.*` puts blocks.0.fc.weight and blocks.0.fc.bias into one unit. Parameters that match no pattern are
    resident. A pattern that matches no name is an error. Without this pass, form-buckets closes buckets by size.
  }];
  let options = [Option<"units", "units", "std::string", "\"auto\"", "auto | pattern=P[|P...]">];
}

def BuildUpdate : Pass<"build-update", "::mlir::ModuleOp"> {
  let summary = "builds @update: the optimizer on flat tensors";
  let description = [{
    There is one update for each gradient state. All are divided by the loss's count (loss-average=global), and have the same
    clipping factor. @update reads scalar.lr, scalar.step and scalar.clip_norm, and writes scalar.loss and scalar.grad_norm.
    Optimizer states get the segments of their parameter. If the segments of a bucket are in several parameter groups, the
    position of an element decides with which learning rate and weight decay it is updated. A parameter narrower than f32 has
    a master, an optimizer state of f32 with the parameter's initial value before rounding. The master is updated, and the
    parameter is its cast. With a loss scale (scalar.loss_scale, which differentiate declares), every state stays as it was if
    the gradient norm is infinite.
  }];
  let options = [Option<"optimizer", "optimizer", "std::string", "\"adamw\"", "KIND[,key=value...]">,
                 Option<"lossAverage", "loss-average", "std::string", "\"global\"", "global | rank">];
}

def BuildEvaluate : Pass<"build-evaluate", "::mlir::ModuleOp"> {
  let summary = "turns @model.eval into @evaluate";
  let description = [{
    @evaluate adds the loss's sum and count to scalar.eval_loss_sum and scalar.eval_count. If the loss is a cross-entropy over
    class scores (log_softmax, and a comparison of the labels with an iota that selects from it), @evaluate also adds to
    scalar.eval_correct and scalar.eval_predictions.
  }];
}

def ChooseResiduals : Pass<"choose-residuals", "::mlir::ModuleOp"> {
  let summary = "cuts @c0 into @c0.fwd and @c0.bwd";
  let description = [{
    The residuals are a minimum cut (ResidualChoice.h). It keeps the fewest bytes between the passes, if cheap ops may be computed
    again, and inputs and states cost nothing. Only ops with `isReproducible` (ComputeOpInterface) are computed again. So sums
    and composites are not; `decompose-composites` replaces composites before. Neither are ops that would keep a gathered
    unit in memory across blocks (UnitAnchors.h). With `keep-all` nothing is computed again. The backward pass computes a value
    again just before its first use. `cleave.backward_of = @c0.fwd` names its forward pass (StepFunctions.h).

    Before the cut, the pass drops gradients that cross chunks if the chunk of their value does not read them (the value was
    rounded or detached there, or its gradient is folded away), with all ops that only they need.
  }];
  let options = [Option<"keepAll", "keep-all", "bool", "false", "keep every value that the backward pass reads">];
}

def RecomputeBlocks : Pass<"recompute-blocks", "::mlir::ModuleOp"> {
  let summary = "keeps fewer residuals: the backward pass runs kernels of chosen blocks again";
  let description = [{
    Before: kernels form, in which kernels and library calls of the forward functions have `cleave.block`. After: residuals are a
    minimum cut (ResidualChoice.h), in which all values inside of a chosen block may be computed again, but not those that
    leave it. @c0.bwd (and that of the first micro-batch) runs the forward pass's own kernels again, just before the first use
    of their results (Replay.h). Writes are never repeated. Values that depend on a state which the forward pass writes are
    kept. With `none` nothing changes.

    If the backward pass is split, @cN.bwd_x computes everything again, and passes to @cN.bwd_w the values that it needs. With
    `when=except-last` the last micro-batch gets functions of its own, @cN.fwd.last and so on, which keep all residuals.
  }];
  let options = [Option<"recompute", "recompute", "std::string", "\"none\"", "never | none | blocks | every=N | first=N | segments=N (Recompute.h)">,
                 Option<"when", "when", "std::string", "\"always\"", "in which micro-batches: always | except-last | never">];
}

def SplitBackward : Pass<"split-backward", "::mlir::ModuleOp"> {
  let summary = "splits each backward pass into two functions: gradients of inputs, and gradients of weights";
  let description = [{
    @cN.bwd becomes @cN.bwd_x and @cN.bwd_w. @cN.bwd_x returns the gradients of the chunk's edges. @cN.bwd_w has the rest, on
    which no result depends: it adds to the gradient states. Earlier chunks wait only for @cN.bwd_x, so a schedule may run
    @cN.bwd_w later (zero bubble). A value of @cN.bwd_x that @cN.bwd_w needs is an edge "cN.x:I". It is computed again instead
    if this gives the same bits and keeps fewer bytes (ResidualChoice.h). The first chunk's @c0.bwd_x is empty.

    The pass does this only if the module has `cleave.split_backward`, and removes this attribute.
  }];
}

def SpecializeMicroBatches : Pass<"specialize-micro-batches", "::mlir::ModuleOp"> {
  let summary = "makes functions for the first micro-batch, in which sums begin at zero";
  let description = [{
    With one micro-batch, @c0.fwd and @c0.bwd no longer read their accumulators. With several, @c0.fwd.first and @c0.bwd.first are
    copies that do not read them. Afterwards the module is at the step level.
  }];
  let options = [Option<"microBatches", "micro-batches", "int64_t", "1", "micro-batches of a step">];
}
#endif
