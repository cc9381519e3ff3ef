#ifndef PLAN_DIALECT_TD
#define PLAN_DIALECT_TD

include "mlir/IR/OpBase.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::cleave::plan";
  let summary = "the plan of a rank: its memory, and the instructions that it runs";
  let description = [{
    The lowest dialect, an image of the wire format (runtime/plan/Plan.fbs). `build-plan` makes it from the *kernels* form of the
    `cleave` dialect, and PlanWriter writes it as bytes. There are no SSA values: an operand is a byte range of a region. The
    instructions of one stream run in the order in which they are listed. Only `plan.record` and `plan.wait` order
    instructions of different streams.

    A module in plan form has one `plan.header`, then regions, events, groups, states and kernels, then programs, and nothing
    else. Ops refer to each other by symbols, not by indices. Example:

    ```mlir
    plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"]
    plan.region @transient transient bytes = 128 frames = 1
    plan.program @infer entry events = 0 {
      plan.fill #plan.buffer<"transient", 0, 64, write> pattern = 0 width = 4 on "compute"
      plan.copy #plan.buffer<"transient", 64, 64, write>, #plan.buffer<"transient", 0, 64, read> on "compute"
    }
    ```
  }];
  let useDefaultAttributePrinterParser = 1;
}

#endif
