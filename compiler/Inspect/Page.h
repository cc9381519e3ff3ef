// `cleave inspect --html FILE`: one page that shows a plan, with all that it needs in it. It opens from a disk, without
// a network, and is read by people who have nothing of Cleave.
//
// The page is a fixed template (Page.html) with the plan's numbers as one JSON object in it. Its script makes elements
// of them and never markup, and "<" is escaped in the object, so that no name of a model can end it.
#ifndef CLEAVE_COMPILER_INSPECT_PAGE_H
#define CLEAVE_COMPILER_INSPECT_PAGE_H

#include "compiler/Simulator/StepTimeline.h"

#include <string>

namespace cleave::view {

// A step as a run was measured, to be drawn beside the predicted one.
struct Measured {
  plan::StepTimeline timeline;
  std::string source; // "step 7 of trace.json"
  bool isOfOneProcess = true; // otherwise a rank may be ahead of the process that the step's times are of
};

struct Profile;
struct MachineCosts;

// What a page shows besides the plan; each may be null.
struct PageParts {
  const Measured *measured = nullptr;
  const Profile *profile = nullptr;         // of the measured step
  const MachineCosts *machine = nullptr;    // that is predicted for; null: none in particular
  const plan::StepTimeline *predicted = nullptr; // on that machine
};

std::string pageOf(const rt::fb::Plan &plan, const PageParts &parts);

// The object in the page. Long plans are summed up: slices of the run, neighbouring spans of a stream, the largest
// tensors and exchanges, so that a page stays below 3 MB.
std::string pageJson(const rt::fb::Plan &plan, const PageParts &parts);

// The template, which cmake/EmbedText.cmake embeds; "@PLAN@" stands in the place of the object.
const char *pageTemplate();

} // namespace cleave::view

#endif
