// Step level to sharded level (dialects/Cleave/IR/Rationale.md says what holds at both). Pipeline.h puts the passes in order.
#ifndef CLEAVE_SHARDING_PASSES
#define CLEAVE_SHARDING_PASSES
include "mlir/Pass/PassBase.td"

def AssignShardings : Pass<"assign-shardings", "::mlir::ModuleOp"> {
  let summary = "decides the sharding of every value (Propagation.h)";
  let description = [{
    Before: step level, with `cleave.mesh`. After: every op that has operands or results has `cleave.sharding`, how its results are made, and `cleave.uses`, how
    it takes its operands; arguments and results of functions have `cleave.sharding`; states have `storage`, and `cleave.offloaded` where they are kept
    in host memory (Offload.h). Types are still global. Composites that normalize over a split dimension are decomposed.
    A remark tells of each op that needs what is made of samples from all ranks (GatherNotes.h).
  }];
  let options = [ListOption<"dataAxes", "data-axes", "std::string", "mesh axes that split the batch, slowest first; dp and fsdp without it">,
                 Option<"fsdpStrategy", "fsdp-strategy", "std::string", "\"no-shard\"",
                        "which states the fsdp axis splits (StateStorage.h)">,
                 Option<"dpSync", "dp-sync", "std::string", "\"all-reduce\"", "all-reduce | parameter-server: where parameters are updated (StateStorage.h)">,
                 Option<"gradSync", "grad-sync", "std::string", "\"\"",
                        "every | last micro-batch; without it every where gradients are split">,
                 Option<"offload", "offload", "std::string", "\"\"",
                        "kinds of states that host memory stores: params, grads, optimizer, with commas between">];
}

def Partition : Pass<"partition", "::mlir::ModuleOp"> {
  let summary = "rewrites the module to the program of one rank";
  let description = [{
    Before: as `assign-shardings` leaves it. After: sharded level. Types are local; where a value is used otherwise than it is made, collectives of the shard
    dialect stand, on `shard.grid @mesh`, each with `cleave.instance` and `cleave.reason`; an op whose elements depend on their place gets its origin
    from the states @coordinate.<axis>. A reshape whose result is a part notes the whole's type, `cleave.whole`; an all_reduce whose result is not all of the value on
    every rank is marked `cleave.part`. On a mesh of one rank types stay and nothing is inserted.
  }];
  let dependentDialects = ["::mlir::shard::ShardDialect"];
}

def CombineReductions : Pass<"combine-reductions", "::mlir::func::FuncOp"> {
  let summary = "makes one of small all-reduces that wait for nothing of each other";
  let description = [{
    Before: sharded level. After: small all_reduces of one function over the same axes, by the same kind and of one element type, none of which needs another's result, are one all_reduce of
    their operands laid end to end; it stands where the last one stood, and what needs an earlier one's result comes after it. A collective of a few numbers costs its
    latency, so that forty running statistics are forty times as dear as one. Buckets and what is read from a state are left as they are: they have been laid out
    already. So are all_reduces of parts (`cleave.part`): parts of two values end to end are no part of one value. So is what much would have to wait for: members, their sum and what waits are bounded by `small-bytes`, and 16 times that.

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
    The module says so and has a mesh, and with several ranks a grid of the mesh's shape; every state has storage, and is read and written in the type that one rank stores; every
    argument and result has a sharding; every collective is on that grid and has a reason and an instance of its own; functions have one block, of ops of the cleave or shard dialect or of a plug-in
    that says how they are split; nothing of `assign-shardings` is left over.

    Then it finds of every value what ranks have of it (Distribution.h), from the ops alone: whole, split, partial, on an owner only. It must be what each use
    expects: the op, the state, the port (DistributionCheck.h). It runs after every phase from here down to planning, so that it sees what inserted passes do, and holds for kernels form, too.

    ```
    error: the gradient of 'fc.weight' (@bucket0.grad) is partial over dp (sum); cleave.sub in @update takes it together with what is no term of a sum,
    and expects it whole: an all_reduce, or a reduce_scatter where a part is enough, over dp is missing
    ```
  }];
}
#endif
