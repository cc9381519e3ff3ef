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

def FlattenPrograms : Pass<"flatten-programs", "::mlir::ModuleOp"> {
  let summary = "makes one function of every program that the plan will have";
  let description = [{
    Before: @infer, or @c0.fwd, @c0.bwd, @update (and @evaluate); with more than one micro-batch also @c0.fwd.first and @c0.bwd.first.
    After: entries (`cleave.entry`) @infer, @train_step, @evaluate. With one micro-batch @train_step is forward, backward and update in
    one body. With M it only calls (`cleave.calls`): @micro.first once, @micro M - 2 times, @micro.last once, each in its own frame of the
    inputs; @micro.last ends with the update, so that its collectives overlap the last backward pass.
  }];
}

def BuildPlan : Pass<"build-plan", "::mlir::ModuleOp"> {
  let summary = "decides order, streams, events and addresses";
  let description = [{
    Before: kernels form, flattened. After: plan form, nothing of the other dialects is left. The compute stream keeps program order;
    collectives go to stream `reduce`, right behind what they wait for.
  }];
  let options = [Option<"target", "target", "std::string", "\"host\"", "target written into the header">,
                 Option<"threads", "threads", "int64_t", "1", "compute threads of a rank">];
  let dependentDialects = ["::cleave::plan::PlanDialect"];
}

def VerifyPlan : Pass<"verify-plan", "::mlir::ModuleOp"> {
  let summary = "proves that the plan neither hangs nor races";
  let description = [{
    Writes the plan as bytes, opens them as the runtime does, and runs PlanVerifier.h. Every finding becomes an error. Changes nothing.
  }];
}

#endif
