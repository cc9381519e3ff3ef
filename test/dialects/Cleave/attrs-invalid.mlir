// RUN: cleave-opt %s --split-input-file --verify-diagnostics

// constraint: #cleave.mesh: There is one size
// expected-error @+1 {{a mesh has one size for every axis; got: 2 names and 1 sizes}}
module attributes {cleave.mesh = #cleave.mesh<["dp", "tp"], [2]>} {}

// -----
// constraint: #cleave.mesh: Each axis has a name
// expected-error @+1 {{a mesh axis must have a name}}
module attributes {cleave.mesh = #cleave.mesh<[""], [2]>} {}

// -----
// constraint: #cleave.mesh: No two axes
// expected-error @+1 {{mesh axes have different names; got: "dp" twice}}
module attributes {cleave.mesh = #cleave.mesh<["dp", "dp"], [2, 2]>} {}

// -----
// constraint: #cleave.mesh: Each axis has at least
// expected-error @+1 {{a mesh axis has at least one rank; got: 0 for "dp"}}
module attributes {cleave.mesh = #cleave.mesh<["dp"], [0]>} {}

// -----
// constraint: #cleave.sharding: An axis splits one
// expected-error @+1 {{a sharding uses each axis once; got: "dp" twice}}
module attributes {s = #cleave.sharding<[["dp"], ["dp"]]>} {}

// -----
// constraint: #cleave.sharding: An axis splits one
// expected-error @+1 {{a sharding uses each axis once; got: "dp" twice}}
module attributes {s = #cleave.sharding<[["dp"]], partial = ["dp"]>} {}

// -----
// constraint: #cleave.sharding: Every dimension has
// expected-error @+1 {{a sharding lists axis names for every dimension; got: "dp"}}
module attributes {s = #cleave.sharding<["dp"]>} {}

// -----
// constraint: #cleave.sharding: Every dimension has
// expected-error @+1 {{a mesh axis is a string; got: 1 : i64}}
module attributes {s = #cleave.sharding<[["dp", 1]]>} {}

// -----
// constraint: #cleave.sharding: The number of blocks
// expected-error @+1 {{a dimension's blocks are at least 2, before the axes that split them; got: [16]}}
module attributes {s = #cleave.sharding<[[16]]>} {}

// -----
// constraint: #cleave.sharding: The number of blocks
// expected-error @+1 {{a dimension's blocks are at least 2, before the axes that split them; got: [1, "dp"]}}
module attributes {s = #cleave.sharding<[[1, "dp"]]>} {}

// -----
// constraint: #cleave.sharding: An axis splits one
// expected-error @+1 {{a sharding uses each axis once; got: "dp" twice}}
module attributes {s = #cleave.sharding<[[16, "dp"], ["dp"]]>} {}

// -----
// constraint: #cleave.sharding: An axis splits one
// expected-error @+1 {{a sharding uses each axis once; got: "dp" twice}}
module attributes {s = #cleave.sharding<[["dp"]], owner = ["dp"]>} {}

// -----
// constraint: #cleave.sharding: An axis splits one
// expected-error @+1 {{a sharding uses each axis once; got: "dp" twice}}
module attributes {s = #cleave.sharding<[[]], partial = ["dp"], owner = ["dp"]>} {}

// -----
// constraint: #cleave.sharding: `owner`, if it is given
// expected-error @+1 {{an owner is of at least one axis; got: []}}
module attributes {s = #cleave.sharding<[[]], owner = []>} {}

// -----
// constraint: #cleave.sharding: Every dimension has
// expected-error @+1 {{a mesh axis is a string; got: ["dp"]}}
module attributes {s = #cleave.sharding<[[]], partial = [["dp"]]>} {}

// -----
// constraint: #cleave.mesh: The mesh has
// expected-error @+1 {{a mesh has at most 2^31 - 1 ranks; got: more with 4294967296 for "pp"}}
module attributes {cleave.mesh = #cleave.mesh<["dp", "pp"], [2, 4294967296]>} {}

// -----
// constraint: #cleave.mesh: The mesh has
// expected-error @+1 {{a mesh has at most 2^31 - 1 ranks; got: more with 65536 for "pp"}}
module attributes {cleave.mesh = #cleave.mesh<["dp", "pp"], [65536, 65536]>} {}
