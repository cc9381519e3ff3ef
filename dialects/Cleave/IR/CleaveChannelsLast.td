// Ops on tensors whose channels are last in memory, and the interface of ops that have a form for such tensors. Their
// C++ is in ChannelsLast.h, which few passes include.
#ifndef CLEAVE_CHANNELSLAST_TD
#define CLEAVE_CHANNELSLAST_TD
include "dialects/Cleave/IR/CleaveOpBase.td"

def ChannelsLastOpInterface : OpInterface<"ChannelsLastOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{
    The op has a form that computes the same on tensors whose channels (dimension 1) are last in memory. Ops that compute each
    element from the operands' elements at the same index do not need the interface: `channelsLastForm` (ChannelsLast.h)
    recognizes them by their indexing maps.
  }];
  let methods = [InterfaceMethod<"Returns the form, or nothing if there is none for the op's attributes and types.", "std::optional<::cleave::ChannelsLastForm>",
    "channelsLastForm", (ins)>];
}

def EpilogueOpInterface : OpInterface<"EpilogueOpInterface"> {
  let cppNamespace = "::cleave";
  let description = "A kernel that can compute a little more while its result is in registers.";
  let methods = [InterfaceMethod<[{Builds the op so that it adds `bias`, a vector along the result's last dimension, to its
      result. Null if the kernel cannot do this, or would be slower than a separate addition.}],
    "::mlir::Value", "withEpilogue", (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$bias)>];
}

class Cleave_LastWindowOp<string mnemonic, list<Trait> traits = []>
    : Cleave_ComputeOp<mnemonic, !listconcat([Cleave_Cost], traits), ["getComputeKind", "getKernelSpec"]> {
  let results = (outs Cleave_FloatTensor:$result);
  let hasVerifier = 1;
}

def Cleave_LastConvolutionOp : Cleave_LastWindowOp<"last_convolution", [DeclareOpInterfaceMethods<EpilogueOpInterface>]> {
  let summary = "convolution of tensors with channels last; it may have a bias for each channel";
  let description = [{
    `input` is [n, in..., ic], `filter` is [oc, ic/groups, kernel...] as in `convolution`, `bias` is [oc], and the result is
    [n, out..., oc]. The attributes are those of `convolution`. `assign-layouts` makes the op, and `finish-kernels` gives it a
    bias. Both run after the passes that need gradients, because the op has none.
    ```mlir
    %0 = cleave.last_convolution %x, %w bias %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>,
      pad_high = array<i64: 1, 1>, groups = 1 : i64} : tensor<8x32x32x3xf32>, tensor<16x3x3x3xf32>, tensor<16xf32> -> tensor<8x32x32x16xf32>
    ```
    Constraints:
    - The result has the shape that `convolution` gives for the same tensors with their channels first.
    - `bias` has one element for each channel of the result.
  }];
  let arguments = (ins Cleave_FloatTensor:$input, Cleave_FloatTensor:$filter, Optional<Cleave_FloatTensor>:$bias, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high, I64Attr:$groups);
  let assemblyFormat = [{$input `,` $filter (`bias` $bias^)? attr-dict `:` type($input) `,` type($filter) (`,` type($bias)^)? `->` type($result)}];
}

def Cleave_LastPoolOp : Cleave_LastWindowOp<"last_pool"> {
  let summary = "maximum, or with `mean` the mean, over windows of a tensor with channels last";
  let description = [{
    The operand is [n, in..., c], and the result is [n, out..., c]. The attributes are those of `max_pool`, or with `mean` those
    of `avg_pool`. `assign-layouts` makes the op.
    ```mlir
    %0 = cleave.last_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
      pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : tensor<8x32x32x3xf32> -> tensor<8x16x16x3xf32>
    ```
    Constraints:
    - The result has the shape that `max_pool` or `avg_pool` gives for the same operand with its channels first.
  }];
  let arguments = (ins Cleave_FloatTensor:$input, UnitAttr:$mean, UnitAttr:$count_pad, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}
#endif
