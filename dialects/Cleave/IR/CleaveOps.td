// The ops that every pass may name; one file for each family of ops. Ops of other families (attention, scatter, ...)
// have headers of their own.
#ifndef CLEAVE_OPS_TD
#define CLEAVE_OPS_TD
include "dialects/Cleave/IR/CleaveStateOps.td"
include "dialects/Cleave/IR/CleaveElementwiseOps.td"
include "dialects/Cleave/IR/CleaveShapeOps.td"
include "dialects/Cleave/IR/CleaveReductionOps.td"
include "dialects/Cleave/IR/CleaveContractionOps.td"
include "dialects/Cleave/IR/CleaveIndexingOps.td"
#endif
