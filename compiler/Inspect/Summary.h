// What `cleave inspect` shows first: one screen of what a plan is, needs and sends, in units that people read.
#ifndef CLEAVE_COMPILER_INSPECT_SUMMARY_H
#define CLEAVE_COMPILER_INSPECT_SUMMARY_H

#include "runtime/plan/Plan_generated.h"

#include <string>

namespace cleave::view {

// "gpt.onnx, trained with adamw on 4 ranks (dp=2,fsdp=2), target host", and the batch: two lines.
std::string headline(const rt::fb::Plan &plan);

// At most four kinds of ranks have a column each; of more, those that need the most and the least memory have one.
std::string summaryText(const rt::fb::Plan &plan);

// What a kind of region's bytes are, in a few words.
const char *meaningOf(rt::fb::RegionKind kind);

} // namespace cleave::view

#endif
