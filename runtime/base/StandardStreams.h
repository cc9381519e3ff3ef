// Standard streams that the caller closed (`program >&- 2>&-`, some daemons): the next file that is opened takes the number of
// such a stream, and what is printed goes into that file.
//
//   openStandardStreams();   // first in main()
#ifndef CLEAVE_RUNTIME_BASE_STANDARDSTREAMS_H
#define CLEAVE_RUNTIME_BASE_STANDARDSTREAMS_H

#include <cerrno>
#include <fcntl.h>
#include <initializer_list>

namespace cleave::rt {

// The input and the output are opened the wrong way round, so that using them stays an error; what is told on the error
// stream is lost, as the caller wants it. The lowest free number is the stream's: those below are open.
inline void openStandardStreams() {
  for (int stream : {0, 1, 2})
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      ::open("/dev/null", stream == 1 ? O_RDONLY : O_WRONLY);
}

} // namespace cleave::rt

#endif
