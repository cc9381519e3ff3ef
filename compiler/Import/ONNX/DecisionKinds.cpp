#include "compiler/Import/ONNX/DecisionKinds.h"

#include "llvm/ADT/StringSwitch.h"

using namespace cleave::onnx_import;

DecisionKind cleave::onnx_import::decisionKindOf(llvm::StringRef op) {
  using Kind = DecisionKind;
  return llvm::StringSwitch<Kind>(op)
      .Cases(
          {"Shape", "Size", "Identity", "Concat", "Split", "Squeeze", "Unsqueeze", "Reshape", "Flatten", "Transpose"},
          Kind::Line)
      .Cases({"Expand", "Tile", "Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND"}, Kind::Line)
      .Cases({"Range", "ConstantOfShape", "EyeLike", "Trilu", "OneHot", "Pad", "Compress", "NonZero"}, Kind::Line)
      .Cases(
          {"Add", "Sub", "Sum", "Mean", "Neg", "ReduceSum", "ReduceMean", "CumSum", "Where", "Not", "And", "Or", "Xor"},
          Kind::Line)
      .Case("Mul", Kind::Product)
      .Case("ReduceProd", Kind::Products)
      .Cases({"Less", "GreaterOrEqual"}, Kind::Less)
      .Cases({"Greater", "LessOrEqual"}, Kind::Greater)
      .Case("Equal", Kind::Equal)
      .Cases({"Max", "Min", "Clip"}, Kind::Choice)
      .Cases({"ReduceMax", "ReduceMin", "ArgMax", "ArgMin"}, Kind::Reduction)
      .Cases({"Abs", "Relu"}, Kind::Bend)
      .Case("Sign", Kind::Sign)
      .Cases({"Div", "Mod"}, Kind::Quotient)
      .Cases({"Floor", "Ceil", "Round", "Cast"}, Kind::Rounding)
      .Case("Slice", Kind::Cut)
      .Default(Kind::Other);
}
