// Ops on tensors whose channels are last in memory, and the interface of ops that have such a form. Included by ChannelsLast.h,
// which few passes do.
#ifndef CLEAVE_CHANNELSLAST_TD
#define CLEAVE_CHANNELSLAST_TD
include "dialects/Cleave/IR/CleaveOpBase.td"

def ChannelsLastOpInterface : OpInterface<"ChannelsLastOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{
    The op computes the same of tensors whose channels (dimension 1) are last in memory. Ops that compute each element of those at the same index need no such
    word: `channelsLastForm` (ChannelsLast.h) knows them by their maps.
  }];
  let methods = [InterfaceMethod<"The form, or nothing where it has none for its attributes and types.", "std::optional<::cleave::ChannelsLastForm>",
    "channelsLastForm", (ins)>];
}

def EpilogueOpInterface : OpInterface<"EpilogueOpInterface"> {
  let cppNamespace = "::cleave";
  let description = "A kernel that can compute a little more while its result is in registers.";
  let methods = [InterfaceMethod<[{Builds the op with `bias`, a vector along the result's last dimension, added to the result. Null where the kernel cannot, or
    would be the slower for it.}],
    "::mlir::Value", "withEpilogue", (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$bias)>];
}

class Cleave_LastWindowOp<string mnemonic, list<Trait> traits = []>
    : Cleave_ComputeOp<mnemonic, !listconcat([Cleave_Cost], traits), ["getComputeKind", "getKernelSpec"]> {
  let results = (outs Cleave_FloatTensor:$result);
  let hasVerifier = 1;
}

def Cleave_LastConvolutionOp : Cleave_LastWindowOp<"last_convolution", [DeclareOpInterfaceMethods<EpilogueOpInterface>]> {
  let summary = "convolution of tensors with channels last, with a bias for each channel or without";
  let description = [{
    `input` is [n, in..., ic], `filter` [oc, ic/groups, kernel...] as convolution has it, `bias` [oc] and the result [n, out..., oc]. The other attributes are those
    of convolution. `assign-layouts` makes it and `finish-kernels` gives it a bias, after everything that asks for gradients.
    ```mlir
    %0 = cleave.last_convolution %x, %w bias %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>,
      pad_high = array<i64: 1, 1>, groups = 1 : i64} : tensor<8x32x32x3xf32>, tensor<16x3x3x3xf32>, tensor<16xf32> -> tensor<8x32x32x16xf32>
    ```
    Constraints:
    - A convolution of the tensors with their channels first has that result.
  }];
  let arguments = (ins Cleave_FloatTensor:$input, Cleave_FloatTensor:$filter, Optional<Cleave_FloatTensor>:$bias, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high, I64Attr:$groups);
  let assemblyFormat = [{$input `,` $filter (`bias` $bias^)? attr-dict `:` type($input) `,` type($filter) (`,` type($bias)^)? `->` type($result)}];
}

def Cleave_LastPoolOp : Cleave_LastWindowOp<"last_pool"> {
  let summary = "maximum, or with `mean` the mean, over windows of a tensor with channels last";
  let description = [{
    The operand is [n, in..., c] and the result [n, out..., c]. The attributes are those of max_pool, and with `mean` of avg_pool. `assign-layouts` makes it.
    ```mlir
    %0 = cleave.last_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
      pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : tensor<8x32x32x3xf32> -> tensor<8x16x16x3xf32>
    ```
    Constraints:
    - A pool of the tensors with their channels first has that result.
  }];
  let arguments = (ins Cleave_FloatTensor:$input, UnitAttr:$mean, UnitAttr:$count_pad, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}
#endif
