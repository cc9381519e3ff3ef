// The inverse functions of sine, cosine and tangent. Included by what names these ops (Trigonometry.h), which few passes
// do: most ask for interfaces.
#ifndef CLEAVE_TRIGONOMETRYOPS_TD
#define CLEAVE_TRIGONOMETRYOPS_TD
include "dialects/Cleave/IR/CleaveElementwiseBase.td"

def Cleave_AsinOp : Cleave_FloatUnaryOp<"asin", "inverse sine; NaN beyond 1 and -1">;
def Cleave_AcosOp : Cleave_FloatUnaryOp<"acos", "inverse cosine; NaN beyond 1 and -1">;
def Cleave_AtanOp : Cleave_FloatUnaryOp<"atan", "inverse tangent">;
#endif
