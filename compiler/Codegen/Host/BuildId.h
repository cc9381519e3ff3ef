// Finds the build id among the notes of an ELF object. The object may be damaged: sizes in it are not trusted.
#ifndef CLEAVE_COMPILER_CODEGEN_HOST_BUILDID_H
#define CLEAVE_COMPILER_CODEGEN_HOST_BUILDID_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <link.h>
#include <string>

namespace cleave {

// `notes` are the bytes of a segment PT_NOTE, and `alignment` is its p_align. Returns an empty text if there is no
// build id, or a damaged note before it.
std::string buildIdAmong(llvm::StringRef notes, uint64_t alignment);
// Returns the build id of a loaded object, or an empty text.
std::string buildIdOf(const dl_phdr_info &object);

} // namespace cleave

#endif
