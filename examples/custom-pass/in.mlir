func.func @both_sides(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = cleave.constant dense<2.0> : tensor<4xf32>
  %b = cleave.constant dense<1.5> : tensor<4xf32>
  %0 = cleave.mul %x, %a : tensor<4xf32>
  %1 = cleave.mul %b, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
