// Opens standard streams that the caller has closed (`program >&- 2>&-`, some daemons). Otherwise the next file that is
// opened would get the number of such a stream, and printed text would go into that file.
//
//   openStandardStreams();   // first in main()
#ifndef CLEAVE_RUNTIME_BASE_STANDARDSTREAMS_H
#define CLEAVE_RUNTIME_BASE_STANDARDSTREAMS_H

#include <cerrno>
#include <fcntl.h>
#include <initializer_list>

namespace cleave::rt {

// Standard input is opened for writing and standard output for reading, so using them is still an error. Text for
// standard error is discarded, as the caller wants. open() returns the lowest free number, which is that of `stream`,
// because all lower ones are open.
inline void openStandardStreams() {
  for (int stream : {0, 1, 2})
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      ::open("/dev/null", stream == 1 ? O_RDONLY : O_WRONLY);
}

} // namespace cleave::rt

#endif
