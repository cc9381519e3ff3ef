// Proves that a plan neither hangs, nor races, nor reads what nobody wrote: `cleave verify`.
//
// Works on the wire format alone, so that what is proved is what runs. A plan is one program for all ranks of a kind,
// hence nothing here enumerates ranks: coordinates enter addresses only, never which instruction is met, so that all
// ranks of a kind agree by construction, and only kinds must be compared with each other (verifyKinds).
//
// The proof is an execution with vector clocks. Every stream counts its instructions; clock[s][t] is how far stream t
// is known to be when stream s stands where it stands; record saves a clock, wait takes the maximum with it. An access
// to a byte is safe when the clock of its stream has passed the accesses it conflicts with:
//
//   compute: launch w A; record 0        reduce: wait 0; all_reduce A     clock[reduce][compute] = 1: safe
//   compute: launch r A                  no wait for reduce: "reads A while ... may still write it"
//
// Beside the clocks runs a second, smaller execution: along which axes of the mesh may ranks hold different bytes here?
// Coordinates, split inputs and split or partial states differ; what an instruction writes differs along what it reads
// does; an all-reduce or an all-gather over an axis ends that, a reduce-scatter begins it. At the end no state may
// differ along an axis on which it is declared whole: the parameters of data-parallel ranks and tied weights stay
// equal.
//
// Frames are told apart where they share a place: bytes and records have the frame of who made them, and who reads or
// waits must mean that one (Rationale.md, "Bodies, frames and events").
//
// A third execution knows what the bytes are, as numbers of expressions, and compares what a program leaves in states
// and outputs with what the model computes (MeaningChecks.h; why that suffices: Rationale.md). It runs all kinds side
// by side, so that a worker that misses a broadcast, or computes what the server does not, is found as well.
//
// A share (Plan.fbs) is all that any rank's coordinates may make of it where races are concerned, and exactly itself
// where it is asked what has been written: after a reduce-scatter only the rank's share may be read.
//
// That kernels stay within their buffers, and work in place only where they can, is not asked here: openPlan() has.
//
// Rejected: a search over interleavings. Clocks find every race of a branch-free plan in time linear in its length.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_PLANVERIFIER_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_PLANVERIFIER_H

#include "runtime/plan/Plan_generated.h"

#include <string>
#include <vector>

namespace cleave::plan {

// A rule that does not hold, and the instructions (program, index, opcode, stream, note) it fails for.
struct Finding {
  std::string rule; // "race", "uninitialized", "overlap", "access", "event", "frame", "collective-match", "transfer",
                    // "deadlock", "state", "space", "port", "replica", "kind", "too long", "part", "snapshot",
                    // "declared", "meaning"
  std::string text;
};

enum class Check {
  All,
  ButStated, // not what a plan states of itself: of one made by hand, which states nothing
};

// Of many micro-batches that follow each other alike most are left out where races and frames are looked for
// (ShortStep.h), or none.
enum class Steps { Short, Whole };

// All findings in one plan with all its kinds, which must have passed rt::openPlan().
std::vector<Finding> verifyPlan(const rt::fb::Plan &plan, Check check = Check::All, Steps steps = Steps::Short);

// The findings between kinds of ranks: every collective is met by the same one, in order, type, count and group, every
// send by a receive, and the wait-for graph over all kinds has no cycle when those wait for each other.
std::vector<Finding> verifyKinds(const std::vector<const rt::fb::Plan *> &kinds);

} // namespace cleave::plan

#endif
