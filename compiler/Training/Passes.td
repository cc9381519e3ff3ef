// Model level to step level (dialects/Cleave/IR/Rationale.md says what holds at both). Pipeline.h puts the passes in order.
#ifndef CLEAVE_TRAINING_PASSES
#define CLEAVE_TRAINING_PASSES
include "mlir/Pass/PassBase.td"

def BuildInference : Pass<"build-inference", "::mlir::ModuleOp"> {
  let summary = "turns @model into @infer";
  let description = [{
    Before: model level, no loss needed. After: step level; @infer has @model's inputs and outputs and nothing else: no write to
    state (running statistics belong to training), no @model.eval (which replaces @model where import made one).
  }];
}

def TieParameters : Pass<"tie-parameters", "::mlir::ModuleOp"> {
  let summary = "makes parameters one that are meant to be the same tensor";
  let description = [{
    For every pair "kept=tied" of original names, reads of the tied parameter become reads of the kept one, transposed where a matrix's
    shape says so. The tied name becomes an alias of the kept segment; its state disappears.
  }];
  let options = [ListOption<"pairs", "pairs", "std::string", "original names, KEPT=TIED">];
}

def AssignParameterGroups : Pass<"assign-parameter-groups", "::mlir::ModuleOp"> {
  let summary = "marks frozen parameters and numbers the parameter groups";
  let description = [{
    Patterns are globs over original names. Sets `frozen` on states, `group` in segments, and the module's `cleave.param_groups`, a list of
    {name, lr_scale[, weight_decay]}. A pattern that matches nothing is an error: it is a typing mistake.
  }];
  let options = [ListOption<"freeze", "freeze", "std::string", "patterns of parameters without a gradient">,
                 Option<"groups", "groups", "std::string", "", "groups between `;`: PATTERN[|PATTERN]:key=value[,key=value]">];
}

def SplitLoss : Pass<"split-loss", "::mlir::ModuleOp"> {
  let summary = "writes the loss as a sum and a count";
  let description = [{
    Before: @model (and @model.eval) have a scalar result with `cleave.loss`. After: @model's results are the sum and the count alone
    (`cleave.loss_sum`, `cleave.loss_count`); in @model.eval they stand beside the other results. With loss-average=rank and R data ranks, @model's sum and
    count are vectors of R: one entry a rank's samples. A mean's count is that of its samples, so that the mean of all micro-batches comes out; a loss that is
    a sum over samples (`cleave.loss_reductions` on the result, or by its constants: LossReduction.h) is summed over M micro-batches: (M * sum, 1). A loss of several
    terms is weighted term by term: a sum over samples by M, a mean by 1, a penalty on weights counts once. What has no such form becomes (loss * batch, batch), with a remark:

    ```mlir
    %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>            %m = cleave.mul %s, %three : tensor<f32>
    %r = cleave.mul %norm, %weight : tensor<f32>                       =>    %w = cleave.add %m, %r : tensor<f32>
    %l = cleave.add %s, %r : tensor<f32>                                     %b = cleave.mul %w, %eight : tensor<f32>
    return %l : tensor<f32>                                                  return %b, %eight : tensor<f32>, tensor<f32>
    ```
  }];
  let options = [Option<"lossAverage", "loss-average", "std::string", "\"global\"", "global | rank">,
                 Option<"dataRanks", "data-ranks", "int64_t", "1", "ranks that the samples are split over">,
                 Option<"microBatches", "micro-batches", "int64_t", "1", "micro-batches of a step">];
}

def ApplyPrecision : Pass<"apply-precision", "::mlir::ModuleOp"> {
  let summary = "chooses the types in which parameters and activations are kept";
  let description = [{
    Before: the model's types. After: parameters have the type `param`, buffers `buffer`; products take and give `param`; all else is computed in
    f32, and rounded where it is kept. ApplyPrecision.cpp says what is kept. A frozen parameter keeps the model's type, and is cast to `param` where it
    is read. Inputs and results of functions have the types they had.

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
  let summary = "lets random numbers count samples over all micro-batches";
  let description = [{
    With M micro-batches, random_uniform of @model begins at sample scalar.micro * samples, and @model counts scalar.micro. So the numbers of a sample do not depend
    on the split into micro-batches. Where the samples are, SampleDims.h says: in any dimension, or in none (a dropout of weights), whose numbers stay.
    With R data ranks the samples are those of one rank: in the global batch a rank's micro-batches lie together, so
    tensor<R*rows x ..> is drawn as tensor<R x rows x ..> of global shape [R, M*rows, ..]. Without micro-batches nothing changes.

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
    Before: @model, where `cleave.normalize` with running statistics is marked `cleave.statistics` (Attributes.def). After: no marks. With `deferred`, @model no
    longer writes the running mean and variance: it adds to two sums (states of slot "sum", zero at the beginning of each step), and `cleave.deferred` on the running mean's
    state tells build-update what to make of them (DeferStatistics.cpp).
  }];
  let options = [Option<"deferred", "deferred", "bool", "false", "update running statistics once a step">,
                 Option<"microBatches", "micro-batches", "int64_t", "1", "micro-batches of a step">];
}

def RequestStages : Pass<"request-stages", "::mlir::ModuleOp"> {
  let summary = "asks cut-model for chunks, which then all run on one rank";
  let description = [{
    Sets the module's `cleave.stages` and `cleave.stage_split`, which `cut-model` follows where its own options are not given, and `cleave.split_backward`, on which split-backward
    runs. For tests of the cut: a model of several
    chunks on one rank computes what the uncut model does. Insert it after import: `--insert import=request-stages{stages=3}`.
  }];
  let options = [Option<"stages", "stages", "int64_t", "1", "how many chunks">,
                 Option<"split", "split", "std::string", "\"auto\"", "as for cut-model">,
                 Option<"splitBackward", "split-backward", "bool", "false", "split each backward pass">];
}

def CutModel : Pass<"cut-model", "::mlir::ModuleOp"> {
  let summary = "cuts @model into chunks, the stages of a pipeline";
  let description = [{
    Before: @model with results (sum, count). After: @c0 ... @cN-1, one function for each stage, and no @model. What a chunk computes and later chunks use is an edge
    (`cleave.edge`, StepFunctions.h): a result of the chunk and an argument of each user, over any distance. An input of the model is an argument of each chunk that
    uses it, and of the last chunk if none does. Constants, parameters, and what is computed of those alone are in each chunk that uses them; so a tied parameter is read in several
    chunks. A state that the forward pass changes is in one chunk with all that reads it; the counter of micro-batches has a copy for each chunk
    that uses it. The last chunk returns the sum and the count.

    Where to cut is decided by compiler/Pipeline/Cut.h, on the order of the operations in @model. One stage leaves @model as it is.
  }];
  let options = [Option<"stages", "stages", "int64_t", "0", "how many chunks; 0: what request-stages has asked for, or 1">,
                 Option<"split", "split", "std::string", "\"auto\"", "(auto | uniform | parameters)[,NAME=STAGE...] | pattern=P[|P...]">,
                 Option<"microBatches", "micro-batches", "int64_t", "1", "micro-batches of a step, which the update's time is spread over">,
                 ListOption<"boundaries", "at", "std::string", "names of the operations, or of parameters of them, with which stages 1, 2, ... begin">,
                 ListOption<"pins", "pins", "std::string", "NAME=STAGE">];
}

def Differentiate : Pass<"differentiate", "::mlir::ModuleOp"> {
  let summary = "appends the backward pass to @model, which becomes @c0, or to each chunk";
  let description = [{
    Before: @model with results (sum, count), or the chunks of cut-model. After: @c0 with one more argument, the gradient of the sum (`cleave.seed`), and no result: it adds sum and count to
    scalar.loss_sum and scalar.loss_count, and the gradient of each parameter @w that has one to the state @w.grad, of the type `reduce`.
    Ops that use the seed, directly or not, are the backward pass; `choose-residuals` cuts there. With a loss scale the seed is
    multiplied by scalar.loss_scale, and divided by the count as far as it is known now (LossScale.h).

    Each chunk @cN becomes such a function. For an edge that it makes, the chunk gets the gradients of its users as arguments (`cleave.cotangent`), which it adds, the last user's
    first; for an edge that it uses it returns the gradient. A parameter that several chunks use has an accumulator for each: @w.grad in
    the last, @w.grad.cN in the others; `build-update` adds them.

    The walk is in reverse topological order over the ops that a trainable parameter reaches; contributions to one value are added in
    the order of that walk: the last user's first. The pass knows no op but `read`, whose transpose is the gradient itself.
  }];
  let options = [Option<"lossAverage", "loss-average", "std::string", "\"global\"", "global | rank">,
                 Option<"microBatches", "micro-batches", "int64_t", "1", "micro-batches of a step">,
                 Option<"reduce", "reduce", "std::string", "\"\"", "type of gradient states: f32, bf16, fp16; empty: the parameter's">,
                 Option<"lossScale", "loss-scale", "std::string", "\"auto\"", "dynamic[,key=value...] | NUMBER | none | auto">];
}

def FindBlocks : Pass<"find-blocks", "::mlir::ModuleOp"> {
  let summary = "numbers the model's repeated blocks, found by structure";
  let description = [{
    Looks at the forward half of @c0 (before differentiation, or for inference: @model, @infer) by Blocks.h. Ops that are made of parameters
    and inputs and that the loss or a result depends on are what blocks are cut from; masks, weights and random numbers go with their users, running
    statistics with what they are made of.

    After: ops of block N carry `cleave.block = N : i64`, those of no block (embedding, head, loss; constants of several blocks) nothing;
    in the forward functions it stays, down to kernels form. A parameter's state carries the attribute where all ops that read it are in that block: one that
    two blocks share, or a block and the embedding, has none, it belongs to the whole. The module carries their number, `cleave.blocks`. Nothing else changes.
  }];
}

def FormBuckets : Pass<"form-buckets", "::mlir::ModuleOp"> {
  let summary = "lays gradients, and their parameters, end to end in buckets";
  let description = [{
    Gradient states of one element type and parameter type, in the order in which @c0 completes them, become buckets (Buckets.h says which). Reads
    become slice and reshape of the bucket's one read, writes become one concat. Parameters with a gradient get buckets of the same segments; all
    others stay single states. With `split-parameters` frozen parameters get buckets too, and a parameter that all its readers cast to one narrower
    type is in a bucket with its like, which is cast before it is cut: a rank casts its part, and that is what is gathered. Where assign-units has
    numbered parameters, buckets are units: each holds all members of its unit of one kind.
  }];
  let options = [Option<"bucketBytes", "bucket-bytes", "int64_t", "26214400", "a bucket is closed when it reaches this size">,
                 Option<"firstBucketBytes", "first-bucket-bytes", "int64_t", "1048576", "the same for the first bucket of a kind">,
                 Option<"dataRanks", "data-ranks", "int64_t", "1", "buckets are padded to a multiple of this times 32 elements">,
                 Option<"splitParameters", "split-parameters", "bool", "false", "buckets are for parameters that are stored split">,
                 Option<"sumsWhole", "sums-whole", "bool", "false", "add to gradient buckets whole: they are reduced in every micro-batch">];
}

def AssignUnits : Pass<"assign-units", "::mlir::ModuleOp"> {
  let summary = "numbers the parameters that are gathered together";
  let description = [{
    Sets `cleave.unit` on states of parameters; number 0 is the resident unit, which is needed all the time. `auto`: units follow blocks, uses and sizes (Units.h).
    `pattern=P[|P...]`: a unit is what stands after one name that begins as P does, component by component
    (`*` is one component): with `blocks.*`, blocks.0.fc.weight and blocks.0.fc.bias belong together. What no pattern names is resident. A pattern that no name begins with is an error.
    Without units, form-buckets closes buckets by size.
  }];
  let options = [Option<"units", "units", "std::string", "\"auto\"", "auto | pattern=P[|P...]">];
}

def BuildUpdate : Pass<"build-update", "::mlir::ModuleOp"> {
  let summary = "builds @update: the optimizer on flat tensors";
  let description = [{
    One update a gradient state, all of them with the same division by the loss's count (loss-average=global) and the same clipping factor. Reads
    scalar.lr, scalar.step, scalar.clip_norm; writes scalar.loss, scalar.grad_norm. Optimizer states get the parameter's segments. Where a bucket's segments
    are in several parameter groups, every element's place says with which learning rate and weight decay it is updated.
    A parameter narrower than f32 has a master: an optimizer state of f32 that begins as the parameter does, unrounded; the update works on it, and
    the parameter is its cast. With a loss scale (scalar.loss_scale, which differentiate declares), an infinite gradient norm leaves every state as it was.
  }];
  let options = [Option<"optimizer", "optimizer", "std::string", "\"adamw\"", "KIND[,key=value...]">,
                 Option<"lossAverage", "loss-average", "std::string", "\"global\"", "global | rank">];
}

def BuildEvaluate : Pass<"build-evaluate", "::mlir::ModuleOp"> {
  let summary = "turns @model.eval into @evaluate";
  let description = [{
    @evaluate adds the loss's sum and count to scalar.eval_loss_sum and scalar.eval_count. Where the loss is a cross-entropy over class scores (log_softmax,
    chosen from by comparing labels with an iota), it also adds scalar.eval_correct and scalar.eval_predictions.
  }];
}

def ChooseResiduals : Pass<"choose-residuals", "::mlir::ModuleOp"> {
  let summary = "cuts @c0 into @c0.fwd and @c0.bwd";
  let description = [{
    The values that cross are the minimum cut of ResidualChoice.h: bytes kept between the passes are least, where cheap ops may be computed
    again and inputs and states cost nothing. Only what `isReproducible` (ComputeOpInterface) is computed again: sums are not, nor composites, which
    `decompose-composites` takes apart before, nor is what would hold a gathered unit across blocks (UnitAnchors.h). With `keep-all` nothing is computed again. The backward pass computes again what it needs just before its first use. It says whose it is:
    `cleave.backward_of = @c0.fwd` (StepFunctions.h).

    Before the cut, gradients that cross chunks and that the chunk of their value does not read are dropped, with all that is computed for them
    alone: the value was rounded or detached there, or its gradient is folded away.
  }];
  let options = [Option<"keepAll", "keep-all", "bool", "false", "keep every value that the backward pass reads">];
}

def RecomputeBlocks : Pass<"recompute-blocks", "::mlir::ModuleOp"> {
  let summary = "keeps less for the backward pass, which runs kernels of chosen blocks again";
  let description = [{
    Before: kernels form; kernels and library calls of the forward functions carry `cleave.block`. After: residuals are a minimum cut (ResidualChoice.h) in which all that is inside
    a chosen block may run again, and what leaves it may not; @c0.bwd (and the first micro-batch's) runs the forward pass's own kernels again, right before the first use of
    what they make (Replay.h). Writes are never repeated, and what depends on a state that the forward pass writes is kept. With `none` nothing changes.
    Where the backward pass is split, @cN.bwd_x does all of it, and hands on to @cN.bwd_w what that needs. With `when=except-last` the last micro-batch gets functions of its own,
    @cN.fwd.last and so on, which keep everything.
  }];
  let options = [Option<"recompute", "recompute", "std::string", "\"none\"", "never | none | blocks | every=N | first=N | segments=N (Recompute.h)">,
                 Option<"when", "when", "std::string", "\"always\"", "in which micro-batches: always | except-last | never">];
}

def SplitBackward : Pass<"split-backward", "::mlir::ModuleOp"> {
  let summary = "makes two functions of each backward pass: gradients of inputs, gradients of weights";
  let description = [{
    @cN.bwd becomes @cN.bwd_x, which returns the gradients of the chunk's edges, and @cN.bwd_w, which adds to the gradient states: what no result
    needs. Only where the module has `cleave.split_backward`, which it takes away. Chunks before wait for the first only, so that a schedule may run the second later (zero bubble). What the second needs of the first is an
    edge "cN.x:I", or computed again where that has the same bits and keeps fewer bytes (ResidualChoice.h). The first chunk's @c0.bwd_x is empty.
  }];
}

def SpecializeMicroBatches : Pass<"specialize-micro-batches", "::mlir::ModuleOp"> {
  let summary = "lets the first micro-batch begin its sums at zero";
  let description = [{
    With one micro-batch, @c0.fwd and @c0.bwd no longer read their accumulators. With more, @c0.fwd.first and @c0.bwd.first are such copies. The
    module is then at the step level.
  }];
  let options = [Option<"microBatches", "micro-batches", "int64_t", "1", "micro-batches of a step">];
}
#endif
