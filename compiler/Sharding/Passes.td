// Step level to sharded level (dialects/Cleave/IR/Rationale.md says what holds at both). Pipeline.h puts the passes in order.
#ifndef CLEAVE_SHARDING_PASSES
#define CLEAVE_SHARDING_PASSES
include "mlir/Pass/PassBase.td"

def AssignShardings : Pass<"assign-shardings", "::mlir::ModuleOp"> {
  let summary = "decides the sharding of every value (Propagation.h)";
  let description = [{
    Before: step level, with `cleave.mesh`. After: every op that has operands or results has `cleave.sharding`, how its results are made, and `cleave.uses`, how
    it takes its operands; arguments and results of functions have `cleave.sharding`; states have `storage`. Types are still global. Composites
    that normalize over a split dimension are decomposed.
  }];
  let options = [ListOption<"dataAxes", "data-axes", "std::string", "mesh axes that split the batch, slowest first; dp and fsdp without it">,
                 Option<"fsdpStrategy", "fsdp-strategy", "std::string", "\"no-shard\"",
                        "which states the fsdp axis splits (StateStorage.h)">,
                 Option<"gradSync", "grad-sync", "std::string", "\"\"",
                        "every | last micro-batch; without it every where gradients are split">];
}

def Partition : Pass<"partition", "::mlir::ModuleOp"> {
  let summary = "rewrites the module to the program of one rank";
  let description = [{
    Before: as `assign-shardings` leaves it. After: sharded level. Types are local; where a value is used otherwise than it is made, collectives of the shard
    dialect stand, on `shard.grid @mesh`, each with `cleave.instance` and `cleave.reason`; an op whose elements depend on their place gets its origin
    from the states @coordinate.<axis>. On a mesh of one rank types stay and nothing is inserted.
  }];
  let dependentDialects = ["::mlir::shard::ShardDialect"];
}

def VerifySharded : Pass<"verify-sharded", "::mlir::ModuleOp"> {
  let summary = "checks the sharded level's normal form";
  let description = [{
    The module says so and has a mesh, and with several ranks a grid of the mesh's shape; every state has storage, and is read and written in the type that one rank stores; every
    argument and result has a sharding; every collective is on that grid and has a reason and an instance of its own; nothing of `assign-shardings` is left over.
  }];
}
#endif
