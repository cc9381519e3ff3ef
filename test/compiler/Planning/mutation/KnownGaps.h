// Kinds of mutation of which the verifier still accepts harmful mutants, with the reason: the only list of them.
//
// A kind that is listed is tried all the same, and its numbers are printed; only its accepted mutants do not fail the
// test. A list that gets shorter is progress, one that gets longer needs a reason of its own.
#ifndef CLEAVE_TEST_PLANNING_MUTATION_KNOWNGAPS_H
#define CLEAVE_TEST_PLANNING_MUTATION_KNOWNGAPS_H

#include <string>
#include <vector>

namespace cleave::mutation {

struct KnownGap {
  std::string reason;
  std::vector<std::string> kinds;
};

inline const std::vector<KnownGap> &knownGaps() {
  static const std::vector<KnownGap> gaps = {{"accepted before the verifier knew what bytes are; not measured since",
                                              {"call first_frame",
                                               "call program",
                                               "call times",
                                               "collective count",
                                               "collective dtype",
                                               "collective group",
                                               "collective reduction",
                                               "drop a collective everywhere",
                                               "drop all_gather",
                                               "drop all_reduce",
                                               "drop call",
                                               "swap launch with another stream's",
                                               "swap fill with another stream's",
                                               "shift reduce",
                                               "move all_reduce",
                                               "drop copy",
                                               "drop fill",
                                               "drop launch",
                                               "drop reduce_scatter",
                                               "duplicate all_reduce",
                                               "duplicate call",
                                               "duplicate copy",
                                               "duplicate fill",
                                               "duplicate launch",
                                               "fill pattern",
                                               "fill width",
                                               "group axes",
                                               "kernel of a launch",
                                               "kernel of a launch, same sizes",
                                               "kernel params",
                                               "kernel params swapped",
                                               "misalign copy",
                                               "misalign launch",
                                               "move all_gather",
                                               "move call",
                                               "move copy",
                                               "move fill",
                                               "move launch",
                                               "move reduce_scatter",
                                               "opcode of a collective",
                                               "other region",
                                               "ports swapped",
                                               "resize all_gather",
                                               "resize all_reduce",
                                               "resize copy",
                                               "resize fill",
                                               "retarget all_gather",
                                               "retarget all_reduce",
                                               "retarget copy",
                                               "retarget fill",
                                               "retarget launch",
                                               "retarget reduce_scatter",
                                               "share dropped",
                                               "share made",
                                               "share stride",
                                               "shift all_gather",
                                               "shift all_reduce",
                                               "shift copy",
                                               "shift fill",
                                               "shift launch",
                                               "shift reduce_scatter",
                                               "states swapped",
                                               "swap all_gather with another stream's",
                                               "swap all_gather with its stream's",
                                               "swap buffers of two instructions",
                                               "swap call with its stream's",
                                               "swap copy with another stream's",
                                               "swap copy with its stream's",
                                               "swap fill with its stream's",
                                               "swap launch with its stream's",
                                               "swap operands",
                                               "swap reduce_scatter with another stream's",
                                               "swap reduce_scatter with its stream's",
                                               "swap wait with its stream's"}},
                                             {"accepted before declarations were sealed; not measured since",
                                              {"axes",
                                               "header",
                                               "parameter group",
                                               "port batch_dim",
                                               "port dropped",
                                               "port dtype",
                                               "port renamed",
                                               "port shape",
                                               "port split",
                                               "program entry",
                                               "segment axis",
                                               "segment cut",
                                               "segment dropped",
                                               "segment init",
                                               "segment moved",
                                               "segment renamed",
                                               "segment reshaped",
                                               "segment source",
                                               "state dropped",
                                               "state dtype",
                                               "state elements",
                                               "state partial_axes",
                                               "state role",
                                               "state slot",
                                               "state split_axes"}}};
  return gaps;
}

} // namespace cleave::mutation

#endif
