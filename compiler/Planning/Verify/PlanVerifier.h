// Proves that a plan does not hang, does not race, reads only what was written, and computes what it states: `cleave
// verify`.
//
// The verifier uses only the wire format, so that it proves what runs. A plan is one program for all ranks of a kind,
// so nothing here enumerates ranks. Coordinates affect only addresses, and never which instruction comes next. So all
// ranks of a kind agree by construction, and only kinds must be compared with each other (verifyKinds).
//
// The proof is an execution with vector clocks. Every stream counts its instructions. clock[s][t] is the number of
// instructions of stream t that are known to be done at the present position of stream s. A record saves a clock, and a
// wait takes the maximum with it. An access to a byte is safe if the clock of its stream includes the accesses that it
// conflicts with:
//
//   compute: launch w A; record 0        reduce: wait 0; all_reduce A     clock[reduce][compute] = 1: safe
//   compute: launch r A                  no wait for reduce: "reads A while ... may still write it"
//
// A second, smaller execution runs with the clocks: it finds along which axes of the mesh ranks may hold different
// bytes. Coordinates, split inputs and split or partial states differ. What an instruction writes differs along the
// same axes as what it reads. An all-reduce or an all-gather over an axis ends a difference, and a reduce-scatter
// begins one. At the end, no state may differ along an axis on which it is declared whole: the parameters of
// data-parallel ranks and tied weights stay equal.
//
// Frames that share a place are kept apart: bytes and records have the frame of the instruction that made them, and an
// instruction that reads or waits must mean this frame (Rationale.md, "Bodies, frames and events").
//
// A third execution knows the content of the bytes, as numbers of expressions. It compares what a program leaves in
// states and outputs with what the model computes (MeaningChecks.h; Rationale.md says why that suffices). It runs all
// kinds side by side, so it also finds a worker that misses a broadcast, or that computes something else than the
// server.
//
// For races, a share (Plan.fbs) is every range that the coordinates of any rank may make of it. For the question of
// what has been written, it is exactly the rank's share: after a reduce-scatter, only this share may be read.
//
// openPlan() has checked that kernels stay within their buffers, and that they work in place only where they can.
//
// Rejected: a search over interleavings. Clocks find every race of a branch-free plan in time linear in its length.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_PLANVERIFIER_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_PLANVERIFIER_H

#include "runtime/plan/Plan_generated.h"

#include <string>
#include <vector>

namespace cleave::plan {

// A rule that does not hold, and the instructions (program, index, opcode, stream, note) for which it fails.
struct Finding {
  std::string rule; // "race", "uninitialized", "overlap", "access", "event", "frame", "collective-match", "transfer",
                    // "deadlock", "state", "space", "port", "replica", "kind", "too long", "part", "snapshot",
                    // "declared", "meaning", "packed", "needs"
  std::string text;
};

enum class Check {
  All,
  ButStated, // all but what a plan states of itself: for plans made by hand, which state nothing
};

// In a step of many equal micro-batches, either most of them are left out when races and frames are looked for
// (ShortStep.h), or none.
enum class Steps { Short, Whole };

// Returns all findings in one plan with all its kinds. The plan must have passed rt::openPlan().
std::vector<Finding> verifyPlan(const rt::fb::Plan &plan, Check check = Check::All, Steps steps = Steps::Short);

// Returns the findings between kinds of ranks. Every collective must be met by the same one (in order, type, count and
// group), and every send by a receive. The wait-for graph over all kinds must have no cycle if all of these wait for
// each other.
std::vector<Finding> verifyKinds(const std::vector<const rt::fb::Plan *> &kinds);

} // namespace cleave::plan

#endif
