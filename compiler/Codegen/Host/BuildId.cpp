#include "compiler/Codegen/Host/BuildId.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>

using namespace cleave;

// The description of a note and the next note begin at multiples of 4 bytes, or of 8 bytes in a segment that is aligned
// to 8. The sizes in a note have 32 bits, so the sums below do not overflow.
std::string cleave::buildIdAmong(llvm::StringRef notes, uint64_t alignment) {
  uint64_t padding = alignment == 8 ? 8 : 4;
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof note);
    uint64_t text = llvm::alignTo(sizeof note + uint64_t(note.n_namesz), padding), end = text + note.n_descsz;
    if (end > notes.size())
      return "";
    if (note.n_type == NT_GNU_BUILD_ID && notes.substr(sizeof note, note.n_namesz) == llvm::StringRef("GNU\0", 4))
      return notes.substr(text, note.n_descsz).str();
    notes = notes.drop_front(std::min<uint64_t>(llvm::alignTo(end, padding), notes.size()));
  }
  return "";
}

// True if the segment is part of a readable one that is in memory.
static bool isInMemory(const dl_phdr_info &object, const ElfW(Phdr) & segment) {
  return llvm::any_of(llvm::ArrayRef(object.dlpi_phdr, object.dlpi_phnum), [&](const ElfW(Phdr) & loaded) {
    return loaded.p_type == PT_LOAD && (loaded.p_flags & PF_R) && segment.p_vaddr >= loaded.p_vaddr &&
           segment.p_memsz <= loaded.p_memsz && segment.p_vaddr - loaded.p_vaddr <= loaded.p_memsz - segment.p_memsz;
  });
}

std::string cleave::buildIdOf(const dl_phdr_info &object) {
  for (const ElfW(Phdr) & segment : llvm::ArrayRef(object.dlpi_phdr, object.dlpi_phnum)) {
    if (segment.p_type != PT_NOTE || !isInMemory(object, segment))
      continue;
    const char *begin = reinterpret_cast<const char *>(object.dlpi_addr + segment.p_vaddr);
    if (std::string id = buildIdAmong(llvm::StringRef(begin, segment.p_memsz), segment.p_align); !id.empty())
      return id;
  }
  return "";
}
