// Base classes of the ops, and the interfaces that every computing op of the dialect declares.
#ifndef CLEAVE_OPBASE_TD
#define CLEAVE_OPBASE_TD

include "dialects/Cleave/IR/CleaveAttrs.td"
include "dialects/Cleave/IR/CleaveInterfaces.td"
include "mlir/Dialect/Shard/Interfaces/ShardingInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Cleave_Op<string mnemonic, list<Trait> traits = []> : Op<Cleave_Dialect, mnemonic, traits>;

// Sizes in bytes, and places of elements, are numbers of 64 bits.
class Cleave_TensorOf<list<Type> types>
    : ConfinedType<StaticShapeTensorOf<types>, [CPred<"::cleave::isCountable($_self)">],
                   StaticShapeTensorOf<types>.summary # ", of at most 2^63 - 1 bytes">;
def Cleave_Tensor : Cleave_TensorOf<[AnyFloat, AnyInteger]>;
def Cleave_FloatTensor : Cleave_TensorOf<[AnyFloat]>;
def Cleave_IntTensor : Cleave_TensorOf<[AnyInteger]>;
def Cleave_BoolTensor : Cleave_TensorOf<[I1]>;
def Cleave_ScalarI64 : Cleave_TensorOf<[I64]>;

// An op that computes. It is pure. The .cpp of its family implements the interfaces of sharding and computation;
// `compute` lists the methods of ComputeOpInterface that it implements.
class Cleave_ComputeOp<string mnemonic, list<Trait> traits = [],
                       list<string> compute = ["getComputeKind", "buildLinalg"]>
    : Cleave_Op<mnemonic, !listconcat([
        Pure,
        DeclareOpInterfaceMethods<ShardingInterface,
          ["getLoopIteratorTypes", "getIndexingMaps", "getReductionLoopIteratorKinds"]>,
        DeclareOpInterfaceMethods<ComputeOpInterface, compute>], traits)>;

// The methods of ComputeOpInterface that a view implements.
defvar Cleave_View = ["getComputeKind", "buildLinalg", "getByteViews"];
defvar Cleave_Differentiable = DeclareOpInterfaceMethods<DifferentiableOpInterface>;
defvar Cleave_Infer = DeclareOpInterfaceMethods<InferTypeOpInterface, ["inferReturnTypes"]>;
defvar Cleave_Cost = DeclareOpInterfaceMethods<CostOpInterface, ["getCost"]>;
defvar Cleave_DefaultCost = DeclareOpInterfaceMethods<CostOpInterface>;
defvar Cleave_Positional = DeclareOpInterfaceMethods<PositionalOpInterface>;

#endif
