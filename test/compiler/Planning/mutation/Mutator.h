// Changes one thing in a plan. The plan remains a valid FlatBuffer and, if possible, plausible: the replacement has the
// same size and type, and only another meaning.
//
//   std::optional<Mutant> mutant = mutate(original, seed);   // the same for the same plan and seed
//   mutant->kind()    "drop all_gather"
//   mutant->change    "train_step[12] all_gather: dropped"
//
// A mutation kind is a name and a function. The families below list theirs. The mutator knows only the wire format,
// through FlatBuffers' object API.
#ifndef CLEAVE_TEST_PLANNING_MUTATION_MUTATOR_H
#define CLEAVE_TEST_PLANNING_MUTATION_MUTATOR_H

#include "runtime/plan/Opcode.h"
#include "runtime/plan/Plan_generated.h"

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace cleave::mutation {

namespace fb = rt::fb;

struct Mutant {
  std::vector<std::string> kinds; // one, or two
  std::string change;
  std::vector<uint64_t> bytes; // of the plan; whole words, so that they are aligned
  size_t size = 0;
  const void *data() const { return bytes.data(); }
  std::string kind() const { return kinds.size() == 1 ? kinds.front() : "two edits"; }
};

// No value if no kind of mutation fits this plan (an empty one). With `only`, uses only the kinds whose name begins
// with it.
std::optional<Mutant> mutate(const fb::Plan &original, uint64_t seed, const std::string &only = "");

// The declarations below are for the families.

// Random choices.
class Dice {
public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  uint64_t below(uint64_t count) { return count ? engine_() % count : 0; }
  bool coin() { return below(2) == 0; }
  template <typename Container> auto &of(Container &container) { return container[below(container.size())]; }

private:
  std::mt19937_64 engine_;
};

struct Site {
  fb::ProgramT *program = nullptr;
  size_t index = 0;
  explicit operator bool() const { return program; }
  fb::InstructionT &operator*() const { return *program->instructions[index]; }
  fb::InstructionT *operator->() const { return program->instructions[index].get(); }
};

struct Subject {
  fb::PlanT &root;
  fb::PlanT &plan; // the kind of ranks that is changed
  Dice &dice;
  std::string change; // for the reader of a failure

  // All instructions for which `fits` returns true.
  std::vector<Site> sites(const std::function<bool(const fb::InstructionT &)> &fits) const;
  Site pick(const std::function<bool(const fb::InstructionT &)> &fits) {
    std::vector<Site> found = sites(fits);
    return found.empty() ? Site() : dice.of(found);
  }
  Site pick(rt::Opcode opcode) {
    return pick([=](const fb::InstructionT &i) { return i.op == static_cast<uint16_t>(opcode); });
  }
  // "train_step[12] copy on gather"
  std::string text(const Site &site) const;
  void tell(const Site &site, const std::string &what) { change = text(site) + ": " + what; }
  // The states of that name in all kinds. Together they are one state.
  std::vector<fb::StateT *> statesNamed(const std::string &name) const;
};

struct MutationKind {
  std::string name;
  std::function<bool(Subject &)> apply; // false: nothing in this plan fits
};

std::vector<MutationKind> orderKinds();  // drop, duplicate, swap, move, stream, whole streams, opcode
std::vector<MutationKind> insertionKinds(); // fills, copies and pairs of copies over states, copies to another place
std::vector<MutationKind> bufferKinds(); // retarget, shift, resize, share, alignment
std::vector<MutationKind> fieldKinds();  // events, calls, collectives, fills, kernels of launches
std::vector<MutationKind> stateKinds();  // states, segments, regions, ports
// Changes instructions, and makes the plan state what the verifier computes from them (Restate.h).
inline const char *const kRestated = "forged: restated";
std::vector<MutationKind> meaningKinds(); // statements, alone and with the things that they protect
std::vector<MutationKind> tableKinds();  // kernels, groups, parameter groups, kinds of ranks, header
std::vector<MutationKind> combinedKinds(); // several edits that compensate each other
std::vector<MutationKind> sharedKinds();   // what programs, ranks and kinds of ranks share
const std::vector<MutationKind> &allKinds();

inline bool isCollective(const fb::InstructionT &i) { return rt::isCollective(static_cast<rt::Opcode>(i.op)); }
inline const rt::OpcodeInfo &infoOf(const fb::InstructionT &i) { return *rt::opcodeInfo(unsigned{i.op}); }
// True if kernels take buffers of the same sizes and accesses, as far as the table says.
bool haveSameOperands(const fb::KernelT &a, const fb::KernelT &b);
// The field of that name. Null if the instruction has none.
int64_t *fieldOf(fb::InstructionT &instruction, const char *name);

} // namespace cleave::mutation

#endif
