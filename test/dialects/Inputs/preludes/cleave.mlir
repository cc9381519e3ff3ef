cleave.state @w : tensor<128x64xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w", tensor<128x64xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
PLACE
