// RUN: cleave-opt %s --build-plan=snapshot=true --verify-plan | FileCheck %s
// RUN: cleave-opt %s --build-plan --verify-plan | FileCheck %s --check-prefix=WITHOUT

// What a checkpoint holds is copied as the rank stores it: a split moment by its half, constants and the sums of a step not at all.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  cleave.state @w : tensor<64xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"w", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @mask : tensor<16xf32> {role = #cleave.role<constant>,
    segments = [#cleave.segment<"mask", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @w.exp_avg : tensor<64xf32> {role = #cleave.role<optimizer>, slot = "exp_avg", storage = #cleave.sharding<[["dp"]]>,
    segments = [#cleave.segment<"w", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @infer() -> (tensor<64xf32> {cleave.name = "y"}) attributes {cleave.entry} {
    %0 = cleave.read @w : tensor<64xf32>
    return %0 : tensor<64xf32>
  }
}

// CHECK-DAG: plan.region @state_copy snapshot bytes = 384 frames = 1
// CHECK: plan.program @snapshot
// CHECK-NEXT: plan.copy <"state_copy", 0, 256, write>, <"persistent", 0, 256, read> on "compute"{{.*}}"w"}
// CHECK-NEXT: plan.copy <"state_copy", 256, 128, write>, <"persistent", 384, 128, read> on "compute"{{.*}}"w.exp_avg"}
// CHECK-NEXT: }
// WITHOUT-NOT: snapshot
