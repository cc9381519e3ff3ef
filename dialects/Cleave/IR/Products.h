// Products that compute more than their result (CleaveProductOps.td): include this to build or match them.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_PRODUCTS_H
#define CLEAVE_DIALECTS_CLEAVE_IR_PRODUCTS_H

#include "dialects/Cleave/IR/Cleave.h"

#define GET_OP_CLASSES
#include "dialects/Cleave/IR/CleaveProductOps.h.inc"

#endif
