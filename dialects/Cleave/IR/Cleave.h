// The `cleave` dialect: include this to build or match its ops.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_CLEAVE_H
#define CLEAVE_DIALECTS_CLEAVE_IR_CLEAVE_H

#include "dialects/Cleave/IR/CleaveInterfaces.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

#include "dialects/Cleave/IR/CleaveDialect.h.inc"
#include "dialects/Cleave/IR/CleaveEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Cleave/IR/CleaveAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Cleave/IR/CleaveOps.h.inc"

#endif
