// `cleave inspect --html FILE`: one page that shows a plan, and contains everything that it needs. It opens from a
// disk, without a network, for people who have nothing of Cleave.
//
// The page is a fixed template (Page.html), into which the plan's numbers are put as one JSON object. Its script makes
// elements of them and never markup, and "<" is escaped in the object, so that no name of a model can end it.
#ifndef CLEAVE_COMPILER_INSPECT_PAGE_H
#define CLEAVE_COMPILER_INSPECT_PAGE_H

#include "compiler/Simulator/StepTimeline.h"

#include <string>

namespace cleave::view {

// A measured step, to be drawn beside the predicted one.
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
  const MachineCosts *machine = nullptr;    // the machine of the prediction; null: none in particular
  const plan::StepTimeline *predicted = nullptr; // on that machine
};

std::string pageOf(const rt::fb::Plan &plan, const PageParts &parts);

// Returns the object in the page. Long plans are summed up (slices of the run, neighbouring spans of a stream, the
// largest tensors and exchanges), so that a page stays below 3 MB.
std::string pageJson(const rt::fb::Plan &plan, const PageParts &parts);

// Returns the template, which cmake/EmbedText.cmake embeds. "@PLAN@" marks the place of the object.
const char *pageTemplate();

} // namespace cleave::view

#endif
