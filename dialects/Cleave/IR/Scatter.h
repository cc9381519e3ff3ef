// Ops that pick, put and rank elements (CleaveScatterOps.td): include this to build or match them.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_SCATTER_H
#define CLEAVE_DIALECTS_CLEAVE_IR_SCATTER_H

#include "dialects/Cleave/IR/Cleave.h"

#define GET_OP_CLASSES
#include "dialects/Cleave/IR/CleaveScatterOps.h.inc"

#endif
