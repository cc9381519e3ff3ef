#include "test/cuda/emulated/translate/Requirements.h"
#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace cleave::emulated {
namespace {

struct Requirement {
  const char *opcode;
  const char *part; // a part that the opcode must have, or several with dots between them; empty: none
  int capability;
  bool exact; // the target must be exactly this one, with its own features (sm_90a)
};

// From the PTX ISA, "Target ISA Notes" of each instruction.
const Requirement kRequirements[] = {{"wgmma", "", 90, true},
                                     {"add", "f32x2", 100, false},
                                     {"sub", "f32x2", 100, false},
                                     {"mul", "f32x2", 100, false},
                                     {"fma", "f32x2", 100, false},
                                     {"add", "f32.f16", 100, false},
                                     {"add", "f32.bf16", 100, false},
                                     {"sub", "f32.f16", 100, false},
                                     {"sub", "f32.bf16", 100, false},
                                     {"fma", "f32.f16", 100, false},
                                     {"fma", "f32.bf16", 100, false},
                                     {"elect", "", 90, false},
                                     {"stmatrix", "", 90, false},
                                     {"mbarrier", "try_wait", 90, false},
                                     {"mbarrier", "expect_tx", 90, false},
                                     {"griddepcontrol", "", 90, false},
                                     {"cp", "bulk", 90, false},
                                     {"fence", "proxy", 90, false},
                                     {"mbarrier", "", 80, false},
                                     {"cp", "async", 80, false},
                                     {"redux", "", 80, false},
                                     {"mma", "bf16", 80, false},
                                     {"mma", "tf32", 80, false},
                                     {"add", "bf16", 90, false},
                                     {"add", "bf16x2", 90, false},
                                     {"sub", "bf16", 90, false},
                                     {"sub", "bf16x2", 90, false},
                                     {"mul", "bf16", 90, false},
                                     {"mul", "bf16x2", 90, false},
                                     {"fma", "bf16", 80, false},
                                     {"fma", "bf16x2", 80, false},
                                     {"min", "bf16", 80, false},
                                     {"max", "bf16", 80, false},
                                     {"min", "NaN", 80, false},
                                     {"max", "NaN", 80, false},
                                     {"tanh", "bf16", 90, false},
                                     {"ex2", "bf16", 90, false},
                                     {"atom", "bf16", 90, false},
                                     {"atom", "bf16x2", 90, false},
                                     {"red", "bf16", 90, false},
                                     {"red", "bf16x2", 90, false},
                                     {"ldmatrix", "", 75, false},
                                     {"tanh", "", 75, false},
                                     {"ex2", "f16", 75, false},
                                     {"match", "", 70, false},
                                     {"mma", "", 70, false},
                                     {"nanosleep", "", 70, false}};

bool has(const ptx::Instruction &i, const std::string &parts) {
  std::istringstream stream(parts);
  for (std::string part; std::getline(stream, part, '.');)
    if (std::find(i.opcode.begin() + 1, i.opcode.end(), part) == i.opcode.end())
      return false;
  return true;
}

} // namespace

Target parseTarget(const std::string &target) {
  if (target.compare(0, 3, "sm_") != 0)
    return {};
  char last = target.back();
  return {atoi(target.c_str() + 3), last == 'a' || last == 'f'};
}

std::string newerThanTarget(const ptx::Module &module) {
  Target target = parseTarget(module.target);
  for (const ptx::Function &f : module.functions)
    for (const ptx::Statement &s : f.body) {
      if (s.kind != ptx::Statement::Kind::Instruction)
        continue;
      const ptx::Instruction &i = s.instruction;
      for (const Requirement &r : kRequirements)
        if (i.opcode[0] == r.opcode && has(i, r.part) &&
            (target.capability < r.capability || (r.exact && !(target.exact && target.capability == r.capability))))
          return f.name + ", line " + std::to_string(i.line) + ": `" + i.spelling() + "` requires .target sm_" +
                 std::to_string(r.capability) + (r.exact ? "a" : " or higher") + ", the module has " + module.target;
    }
  return {};
}

} // namespace cleave::emulated
