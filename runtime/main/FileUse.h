// No file is written that the same command reads, or writes for another option.
//
//   infer --input x=a.npy --output y=a.npy        ->  --output: 'a.npy' is what --input reads; give another name
//   train --metrics log --trace log               ->  --trace: 'log' is what --metrics writes; give another name
#ifndef CLEAVE_RUNTIME_MAIN_FILEUSE_H
#define CLEAVE_RUNTIME_MAIN_FILEUSE_H

#include "runtime/main/CommandLine.h"

namespace cleave::rt {

// InvalidArgument names the option that writes. What cannot be parsed here is told where it is used.
Status checkFileUse(const Command &command);

} // namespace cleave::rt

#endif
