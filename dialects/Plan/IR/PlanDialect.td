#ifndef PLAN_DIALECT_TD
#define PLAN_DIALECT_TD

include "mlir/IR/OpBase.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::cleave::plan";
  let summary = "what a rank holds, where it lies, and what it runs";
  let description = [{
    The lowest dialect: an image of the wire format (runtime/plan/Plan.fbs), made by `build-plan` out of the *kernels* form of the
    `cleave` dialect and turned into bytes by PlanWriter. There are no SSA values: an operand is a byte range of a region, order
    is the order of the list, and streams are ordered among each other by `plan.record` and `plan.wait` alone.

    A module in plan form has one `plan.header`, then regions, groups, states and kernels, then programs; nothing else. Everything
    refers by symbol, so that no op counts indices. Sample:

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
