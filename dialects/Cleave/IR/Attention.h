// Attention and its gradient (CleaveAttentionOps.td): include this to build or match them.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_ATTENTION_H
#define CLEAVE_DIALECTS_CLEAVE_IR_ATTENTION_H

#include "dialects/Cleave/IR/Cleave.h"

#define GET_OP_CLASSES
#include "dialects/Cleave/IR/CleaveAttentionOps.h.inc"

#endif
