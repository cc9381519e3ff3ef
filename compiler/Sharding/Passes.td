// Passes from the step level to the sharded level. dialects/Cleave/IR/Rationale.md says what holds at both levels.
// Pipeline.h has the order of the passes.
#ifndef CLEAVE_SHARDING_PASSES
#define CLEAVE_SHARDING_PASSES
include "mlir/Pass/PassBase.td"

def AssignShardings : Pass<"assign-shardings", "::mlir::ModuleOp"> {
  let summary = "decides the sharding of every value (Propagation.h)";
  let description = [{
    Before: step level, with `cleave.mesh`. After: every op with operands or results has `cleave.sharding`, the shardings in which it
    makes its results, and `cleave.uses`, the shardings in which it uses its operands. Arguments and results of functions have
    `cleave.sharding`. States have `storage`, and `cleave.offloaded` if they are stored in host memory (Offload.h). Types are
    still global. Composites along a dimension that is split are decomposed. A remark is reported for each op that needs a
    value which depends on samples of all ranks (GatherNotes.h).
  }];
  let options = [ListOption<"dataAxes", "data-axes", "std::string", "mesh axes that split the batch, slowest first (default: dp and fsdp)">,
                 Option<"fsdpStrategy", "fsdp-strategy", "std::string", "\"no-shard\"",
                        "which states the fsdp axis splits (StateStorage.h)">,
                 Option<"dpSync", "dp-sync", "std::string", "\"all-reduce\"", "all-reduce | parameter-server: where parameters are updated (StateStorage.h)">,
                 Option<"gradSync", "grad-sync", "std::string", "\"\"",
                        "the micro-batches in which gradients are reduced: every | last (default: every if gradients are split, otherwise last)">,
                 Option<"offload", "offload", "std::string", "\"\"",
                        "kinds of states that are stored in host memory, separated by commas: params, grads, optimizer">];
}

def Partition : Pass<"partition", "::mlir::ModuleOp"> {
  let summary = "rewrites the module to the program of one rank";
  let description = [{
    Before: the form after `assign-shardings`. After: sharded level. Types are local. If a value is used in another sharding than the
    one in which it is made, collectives of the shard dialect on `shard.grid @mesh` are inserted. Each has `cleave.instance` and
    `cleave.reason`. An op whose elements depend on their index gets its origin from the states @coordinate.<axis>. A reshape
    whose result is a part states the type of the whole, `cleave.whole`. An all_reduce after which a rank does not have the
    whole value has the mark `cleave.part`. On a mesh of one rank, types stay as they are, and nothing is inserted.
  }];
  let dependentDialects = ["::mlir::shard::ShardDialect"];
}

def CombineReductions : Pass<"combine-reductions", "::mlir::func::FuncOp"> {
  let summary = "combines small all-reduces that do not depend on each other";
  let description = [{
    Before: sharded level. After: small all_reduces of one function are one all_reduce of their concatenated operands, if they are over
    the same axes, of the same kind and of one element type, and none needs the result of another. The combined all_reduce is
    at the position of the last one, and ops that need an earlier one's result are moved after it. The time of a collective of
    a few numbers is its latency, so forty running statistics take forty times as long as one.

    Not combined are buckets and values that are read from a state, because they have been laid out already; all_reduces of parts
    (`cleave.part`), because the concatenated parts of two values are not a part of one value; and all_reduces for which too
    many bytes would have to wait. A member has at most `small-bytes`. The sum of the members, and the values that wait, have
    at most 16 times as many.

    ```mlir
    %a = shard.all_reduce %x ... : tensor<16xf32>            %0 = cleave.concat %x, %y dim = 0
    cleave.write %a, @mean                            =>     %1 = shard.all_reduce %0 ... : tensor<48xf32>
    %b = shard.all_reduce %y ... : tensor<32xf32>            %a = cleave.slice %1, [0], [16], [1]
    cleave.write %b, @other                                  ...
    ```
  }];
  let options = [Option<"smallBytes", "small-bytes", "int64_t", "65536", "the largest operand that is combined with others">];
}

def VerifySharded : Pass<"verify-sharded", "::mlir::ModuleOp"> {
  let summary = "checks the sharded level's normal form, and proves that no collective is missing";
  let description = [{
    Checks the normal form:
    - The module states that it has the sharded level, and has a mesh. With several ranks it has a grid of the mesh's shape.
    - Every state has storage, and is read and written in the type that one rank stores.
    - Every argument and every result has a sharding.
    - Every collective is on that grid, and has a reason and a unique instance.
    - Functions have one block. Its ops are of the cleave or shard dialect, or of a plug-in and say how they are split.
    - No attributes of `assign-shardings` are left.

    Then the pass determines from the ops alone what each rank has of every value (Distribution.h): the whole value, a part, a term
    of a sum, or nothing except on an owner. This must be what each use expects: an op, a state, or a port
    (DistributionCheck.h). The pass runs after each phase from here to planning, so that it also checks inserted passes. It
    accepts kernels form too.

    ```
    error: the gradient of 'fc.weight' (@bucket0.grad) is partial over dp (sum); cleave.sub in @update takes it together with what is no term of a sum,
    and expects it whole: an all_reduce, or a reduce_scatter where a part is enough, over dp is missing
    ```
  }];
}
#endif
