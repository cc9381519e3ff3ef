// Which file a part of this process was mapped from: the program, or a shared library.
#ifndef CLEAVE_RUNTIME_BASE_LOADEDFILE_H
#define CLEAVE_RUNTIME_BASE_LOADEDFILE_H

#include <string>

namespace cleave::rt {

// Returns the path of the file that `address` was mapped from, as it was when the file was mapped. Empty if there is no
// such file, as for memory that a program has allocated. The kernel's table of mappings has absolute paths. So the
// result depends neither on the name by which the file was loaded, nor on the present working directory.
std::string loadedFile(const void *address);

} // namespace cleave::rt

#endif
