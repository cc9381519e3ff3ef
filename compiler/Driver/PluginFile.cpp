#include "compiler/Driver/PluginFile.h"

#include "compiler/Support/Error.h"

#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace cleave;
namespace object = llvm::object;

static llvm::Error checkSegments(const object::ELF64LEFile &file) {
  auto segments = file.program_headers();
  if (!segments)
    return segments.takeError();
  for (const auto &segment : *segments) {
    uint64_t end = 0;
    if (__builtin_add_overflow(uint64_t{segment.p_offset}, uint64_t{segment.p_filesz}, &end) || end > file.getBufSize())
      return makeError("a segment ends at byte " + llvm::Twine(end));
  }
  auto sections = file.sections();
  return sections ? llvm::Error::success() : sections.takeError();
}

llvm::Error cleave::checkWholeLibrary(llvm::StringRef path) {
  auto bytes = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!bytes || !(*bytes)->getBuffer().starts_with("\x7f"
                                                   "ELF\x02\x01"))
    return llvm::Error::success();
  auto file = object::ELF64LEFile::create((*bytes)->getBuffer());
  llvm::Error error = file ? checkSegments(*file) : file.takeError();
  if (!error)
    return error;
  return makeError("the library is not whole (" + llvm::toString(std::move(error)) + "; it has " +
                   llvm::Twine((*bytes)->getBufferSize()) + " bytes); copy or build it again");
}
