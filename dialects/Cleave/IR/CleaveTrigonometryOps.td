// The inverse functions of sine, cosine and tangent. Their C++ is in Trigonometry.h. Few passes include it, because
// most use only interfaces.
#ifndef CLEAVE_TRIGONOMETRYOPS_TD
#define CLEAVE_TRIGONOMETRYOPS_TD
include "dialects/Cleave/IR/CleaveElementwiseBase.td"

def Cleave_AsinOp : Cleave_FloatUnaryOp<"asin", "inverse sine; NaN outside of [-1, 1]">;
def Cleave_AcosOp : Cleave_FloatUnaryOp<"acos", "inverse cosine; NaN outside of [-1, 1]">;
def Cleave_AtanOp : Cleave_FloatUnaryOp<"atan", "inverse tangent">;
#endif
