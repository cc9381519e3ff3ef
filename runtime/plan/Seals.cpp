#include "runtime/plan/Seals.h"

#include "runtime/base/Crc32c.h"
#include "runtime/base/Hash.h"
#include "runtime/plan/Checks.h"
#include "runtime/plan/RankKinds.h"

namespace cleave::rt {

uint64_t meaningSeal(const fb::Plan &plan) {
  uint64_t hash = fnv1a("meaning");
  auto add = [&](const std::string &text) { hash = fnv1a(std::to_string(text.size()) + "|" + text, hash); };
  for (const fb::Plan *kind : kindsOf(plan)) {
    add(std::to_string(kind->declared()));
    for (size_t i = 0; i < lengthOf(kind->programs()); ++i) {
      const fb::Program &program = *kind->programs()->Get(static_cast<unsigned>(i));
      add(std::string(textOf(program.name())));
      for (size_t entry = 0; entry < lengthOf(program.meaning()); ++entry) {
        const fb::Meaning &meaning = *program.meaning()->Get(static_cast<unsigned>(entry));
        add(std::string(textOf(meaning.name())));
        add(std::to_string(meaning.number()));
        add(std::to_string(meaning.high()));
      }
      add("end");
    }
  }
  return hash;
}

Status checkMeaningSeal(const fb::Plan &plan, uint64_t seal) {
  if (meaningSeal(plan) == seal)
    return Status::ok();
  return badPlan("its statement of what its programs compute is not the one that was compiled; compile the model "
                 "again");
}

uint64_t bytesSeal(const void *plan, size_t size) { return uint64_t{size} << 32 | crc32c(plan, size); }

Status checkBytesSeal(const void *plan, size_t size, uint64_t seal) {
  if (bytesSeal(plan, size) == seal)
    return Status::ok();
  return badPlan("its bytes are not the ones that were compiled: the file was damaged or edited, or another build "
                 "of Cleave wrote it; copy it again, or compile the model again");
}

std::array<uint64_t, kSeals> sealsOf(const fb::Plan &plan, const void *bytes, size_t size) {
  return {meaningSeal(plan), bytesSeal(bytes, size)};
}

} // namespace cleave::rt
