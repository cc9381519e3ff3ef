// RUN: cleave-opt --build-programs --verify-diagnostics %s

// Stages send along an axis of the grid, which --partition makes.
// expected-error @below {{expected a module of the sharded level, with a `shard.grid`; run --partition first}}
module attributes {cleave.level = "step", cleave.pipeline = {axis = "pp"}} {
}
