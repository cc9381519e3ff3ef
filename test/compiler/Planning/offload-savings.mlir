// RUN: cleave-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(plan-in-place),flatten-programs,build-plan{gathers-in-flight=1},verify-plan)' -verify-diagnostics

// Both values are in use at once, which is where the program needs the most: host memory helps nothing.
// expected-remark @+1 {{--offload activations stores 512 bytes in host memory, but saves no device memory}}
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [1]>} {
  func.func @infer(%x: tensor<64xf32> {cleave.name = "x"}) -> (tensor<64xf32> {cleave.name = "y"}) {
    %a = cleave.kernel ins(%x : tensor<64xf32>) -> tensor<64xf32> attributes {label = "a"} {
    ^bb0(%v: tensor<64xf32>):
      %e = cleave.exp %v : tensor<64xf32>
      cleave.yield %e : tensor<64xf32>
    }
    %ha = cleave.offload %a : tensor<64xf32>
    %b = cleave.kernel ins(%x : tensor<64xf32>) -> tensor<64xf32> attributes {label = "b"} {
    ^bb0(%v: tensor<64xf32>):
      %t = cleave.tanh %v : tensor<64xf32>
      cleave.yield %t : tensor<64xf32>
    }
    %hb = cleave.offload %b : tensor<64xf32>
    %y = cleave.kernel ins(%ha, %hb : tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> attributes {label = "y"} {
    ^bb0(%v: tensor<64xf32>, %w: tensor<64xf32>):
      %s = cleave.add %v, %w : tensor<64xf32>
      cleave.yield %s : tensor<64xf32>
    }
    return %y : tensor<64xf32>
  }
}

// -----

// After three values something large is made, beside which the first one would lie.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [1]>} {
  func.func @infer(%x: tensor<64xf32> {cleave.name = "x"}) -> (tensor<64xf32> {cleave.name = "y"}) {
    %a = cleave.kernel ins(%x : tensor<64xf32>) -> tensor<64xf32> attributes {label = "a"} {
    ^bb0(%v: tensor<64xf32>):
      %e = cleave.exp %v : tensor<64xf32>
      cleave.yield %e : tensor<64xf32>
    }
    %ha = cleave.offload %a : tensor<64xf32>
    %b = cleave.kernel ins(%x : tensor<64xf32>) -> tensor<64xf32> attributes {label = "b"} {
    ^bb0(%v: tensor<64xf32>):
      %e = cleave.tanh %v : tensor<64xf32>
      cleave.yield %e : tensor<64xf32>
    }
    %hb = cleave.offload %b : tensor<64xf32>
    %c = cleave.kernel ins(%x : tensor<64xf32>) -> tensor<64xf32> attributes {label = "c"} {
    ^bb0(%v: tensor<64xf32>):
      %e = cleave.neg %v : tensor<64xf32>
      cleave.yield %e : tensor<64xf32>
    }
    %hc = cleave.offload %c : tensor<64xf32>
    %large = cleave.kernel ins(%x : tensor<64xf32>) -> tensor<64x64xf32> attributes {label = "large"} {
    ^bb0(%v: tensor<64xf32>):
      %t = cleave.broadcast %v, [0] : tensor<64xf32> -> tensor<64x64xf32>
      cleave.yield %t : tensor<64x64xf32>
    }
    %sums = cleave.kernel ins(%large : tensor<64x64xf32>) -> tensor<64xf32> attributes {label = "sums"} {
    ^bb0(%v: tensor<64x64xf32>):
      %t = cleave.reduce sum %v, [1] : tensor<64x64xf32> -> tensor<64xf32>
      cleave.yield %t : tensor<64xf32>
    }
    %y = cleave.kernel ins(%ha, %hb, %hc, %sums : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> attributes {label = "y"} {
    ^bb0(%v: tensor<64xf32>, %w: tensor<64xf32>, %u: tensor<64xf32>, %s: tensor<64xf32>):
      %p = cleave.add %v, %w : tensor<64xf32>
      %q = cleave.add %u, %s : tensor<64xf32>
      %r = cleave.add %p, %q : tensor<64xf32>
      cleave.yield %r : tensor<64xf32>
    }
    return %y : tensor<64xf32>
  }
}
