#ifndef CLEAVE_ATTRS_TD
#define CLEAVE_ATTRS_TD

include "dialects/Cleave/IR/CleaveDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Cleave_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::cleave";
  let genSpecializedAttr = 0;
}
class Cleave_EnumAttr<EnumInfo info, string mnemonic> : EnumAttr<Cleave_Dialect, info, mnemonic>;

def Cleave_Role : Cleave_Enum<"Role", "what a state is for", [
  I32EnumAttrCase<"Parameter", 0, "parameter">, I32EnumAttrCase<"Buffer", 1, "buffer">,
  I32EnumAttrCase<"Gradient", 2, "gradient">, I32EnumAttrCase<"Optimizer", 3, "optimizer">,
  I32EnumAttrCase<"Scalar", 4, "scalar">, I32EnumAttrCase<"Constant", 5, "constant">,
  I32EnumAttrCase<"Coordinate", 6, "coordinate">]>;
def Cleave_RoleAttr : Cleave_EnumAttr<Cleave_Role, "role"> {
  let description = [{
    The purpose of a `cleave.state`. It decides how the state is stored, and what a checkpoint has. Example:
    `cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>, ...}`.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Cleave_InitKind : Cleave_Enum<"InitKind", "how a state begins", [
  I32EnumAttrCase<"Zeros", 0, "zeros">, I32EnumAttrCase<"Constant", 1, "constant">,
  I32EnumAttrCase<"Weights", 2, "weights">, I32EnumAttrCase<"Coordinate", 3, "coordinate">]>;
def Cleave_InitKindAttr : Cleave_EnumAttr<Cleave_InitKind, "init_kind"> {
  let description = [{
    The first word of `#cleave.init`. Example: `zeros` in `#cleave.init<zeros>`.
  }];
}

def Cleave_ReduceKind : Cleave_Enum<"ReduceKind", "the combining function of a reduction", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">,
  I32EnumAttrCase<"Product", 3, "product">]>;
def Cleave_ReduceKindAttr : Cleave_EnumAttr<Cleave_ReduceKind, "reduce_kind"> {
  let description = [{
    Example: `sum` in `cleave.reduce sum %x, [1] : tensor<8x4xf32> -> tensor<8xf32>`.
  }];
}

def Cleave_Predicate : Cleave_Enum<"Predicate", "a comparison; on floating point all but `ne` are false for NaN", [
  I32EnumAttrCase<"Eq", 0, "eq">, I32EnumAttrCase<"Ne", 1, "ne">, I32EnumAttrCase<"Lt", 2, "lt">,
  I32EnumAttrCase<"Le", 3, "le">, I32EnumAttrCase<"Gt", 4, "gt">, I32EnumAttrCase<"Ge", 5, "ge">]>;
def Cleave_PredicateAttr : Cleave_EnumAttr<Cleave_Predicate, "predicate"> {
  let description = [{
    Example: `lt` in `cleave.compare lt %a, %b : tensor<4xf32>`, which is true where the element of `%a` is less than that of `%b`.
  }];
}

class Cleave_Attr<string name, string attrMnemonic> : AttrDef<Cleave_Dialect, name> { let mnemonic = attrMnemonic; }

def Cleave_MeshAttr : Cleave_Attr<"Mesh", "mesh"> {
  let summary = "the named axes of the device mesh, slowest first";
  let description = [{
    The module has it as its attribute `cleave.mesh`. Ranks are numbered row-major: the last axis is the fastest.
    Example: `#cleave.mesh<["dp", "tp"], [2, 4]>` is 8 ranks.

    Constraints:
    - There is one size for each axis.
    - Each axis has a name.
    - No two axes have the same name.
    - Each axis has at least one rank.
    - The mesh has at most 2^31 - 1 ranks.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names, ArrayRefParameter<"int64_t">:$sizes);
  let hasCustomAssemblyFormat = 1; // lists may be empty: one rank
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    // Returns the size of the axis; 1 if the mesh does not have it.
    int64_t getSize(::llvm::StringRef axis) const;
    // Returns the product of the sizes.
    int64_t getNumRanks() const;
    // Returns the index of the axis, or -1.
    int64_t getIndex(::llvm::StringRef axis) const;
  }];
}

def Cleave_ShardingAttr : Cleave_Attr<"Sharding", "sharding"> {
  let summary = "how a value lies on the mesh";
  let description = [{
    The attribute lists, for every dimension, the mesh axes that split it, slowest first. Along axes that it does not name,
    ranks have copies. Along `partial` axes they have unreduced terms: the value is the sum (or max, min) of the terms over
    these axes. Along `owner` axes only the ranks at coordinate 0 have the value. The bytes of the other ranks are undefined.

    Examples:
    - `#cleave.sharding<[["dp"], []]>` splits dimension 0 of a matrix.
    - `#cleave.sharding<[[], []], partial = ["dp"]>` is a weight's gradient before its all-reduce.
    - `#cleave.sharding<[[]], owner = ["dp"]>` is the optimizer state of a parameter server.
    - `#cleave.sharding<[[]], partial = ["tp"], owner = ["dp"]>`: the owners over dp have the terms of a sum over tp.

    A number before a dimension's axes says into how many equal blocks the dimension is cut. The axes then split each block.
    For example, a tensor of 16 x B is split over B and then reshaped to 16*B rows. The result has the sharding
    `#cleave.sharding<[[16, "dp"], []]>`: a rank has 16 * B/dp rows, in their order.

    Constraints:
    - An axis splits one dimension, is partial, or has an owner, and only one of these: a rank has one place in a value.
    - Every dimension has a list of axes, which are strings.
    - The number of blocks, if it is given, is at least 2, and an axis follows it.
    - `owner`, if it is given, names at least one axis.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$dims, OptionalParameter<"::mlir::ArrayAttr">:$partial,
                        DefaultValuedParameter<"ReduceKind", "ReduceKind::Sum">:$kind,
                        OptionalParameter<"::mlir::ArrayAttr">:$owner);
  let assemblyFormat = "`<` $dims (`,` struct($partial, $kind, $owner)^)? `>`";
  // Leaves out empty lists, and the kind if nothing is partial.
  let builders = [AttrBuilderWithInferredContext<
      (ins "::mlir::ArrayAttr":$dims, CArg<"::llvm::ArrayRef<::mlir::Attribute>", "{}">:$partial,
           CArg<"ReduceKind", "ReduceKind::Sum">:$kind, CArg<"::llvm::ArrayRef<::mlir::Attribute>", "{}">:$owner), [{
    ::mlir::MLIRContext *context = dims.getContext();
    auto listOf = [&](::llvm::ArrayRef<::mlir::Attribute> axes) {
      return axes.empty() ? ::mlir::ArrayAttr() : ::mlir::ArrayAttr::get(context, axes);
    };
    return $_get(context, dims, listOf(partial), partial.empty() ? ReduceKind::Sum : kind, listOf(owner));
  }]>];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static ShardingAttr replicated(::mlir::MLIRContext *context, int64_t rank);
    // True if every rank has the whole value.
    bool isReplicated() const;
    ::llvm::SmallVector<::llvm::StringRef> getDimAxes(int64_t dim) const;
    // Returns the split factor: into how many blocks the dimension is cut, each of which is split; 1 if it is split as
    // a whole.
    int64_t getSplitFactor(int64_t dim) const;
    // True if some dimension has a split factor above 1.
    bool hasSplitFactor() const;
    // Returns a dimension's entry in `dims`.
    static ::mlir::ArrayAttr getDim(::mlir::MLIRContext *context, int64_t blocks, ::llvm::ArrayRef<::llvm::StringRef> axes);
    ::llvm::SmallVector<::llvm::StringRef> getPartialAxes() const;
    ::llvm::SmallVector<::llvm::StringRef> getOwnerAxes() const;
    bool isOwned() const { return getOwner() != nullptr; }
    // Returns this sharding with other `dims`.
    ShardingAttr withDims(::mlir::ArrayAttr dims) const;
    // Returns the type that one rank has. Every split dimension must be divisible by its axes. Padding is added before,
    // never here.
    ::mlir::RankedTensorType getLocalType(::mlir::RankedTensorType global, MeshAttr mesh) const;
  }];
}

def Cleave_InitAttr : Cleave_Attr<"Init", "init"> {
  let summary = "how a tensor begins";
  let description = [{
    The initial value of a tensor. Examples: `#cleave.init<zeros>`, `#cleave.init<constant, value = 1.0>`,
    `#cleave.init<weights, source = "h.0.weight">` (a tensor of the weights file), `#cleave.init<coordinate, source = "dp">`
    (the rank's coordinate on this axis).
  }];
  let parameters = (ins "InitKind":$kind, OptionalParameter<"::mlir::StringAttr">:$source,
                        OptionalParameter<"::mlir::FloatAttr">:$value);
  let assemblyFormat = "`<` $kind `` custom<InitFields>($source, $value) `>`";
}

def Cleave_SegmentAttr : Cleave_Attr<"Segment", "segment"> {
  let summary = "one logical tensor inside a bucket";
  let description = [{
    A bucket has tensors one after the other. Each begins at a multiple of 128 bytes. Example:
    `#cleave.segment<"h.0.bias", tensor<768xf32>, offset = 1024, group = 1, init = #cleave.init<zeros>>`. `offset` counts
    elements. `group` is the number of the parameter group. `aliases` are other original names of the same tensor (tied
    weights). The `cleave.state` that has the segment checks it.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::RankedTensorType":$type, "int64_t":$offset, "int64_t":$group,
                        "InitAttr":$init, OptionalParameter<"::mlir::ArrayAttr">:$aliases);
  let assemblyFormat = [{`<` $name `,` $type `,` `offset` `=` $offset `,` `group` `=` $group `,` `init` `=` $init
                         (`,` `aliases` `=` $aliases^)? `>`}];
}

#endif
