// The inverse trigonometric functions (CleaveTrigonometryOps.td): include this to build or match them.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_TRIGONOMETRY_H
#define CLEAVE_DIALECTS_CLEAVE_IR_TRIGONOMETRY_H

#include "dialects/Cleave/IR/Cleave.h"

#define GET_OP_CLASSES
#include "dialects/Cleave/IR/CleaveTrigonometryOps.h.inc"

#endif
