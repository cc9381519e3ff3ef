// No file is written that the same command reads, or writes for another option.
//
//   infer --input x=a.npy --output y=a.npy        ->  --output: 'a.npy' is what --input reads; give another name
//   train --metrics log --trace log               ->  --trace: 'log' is what --metrics writes; give another name
//   ./model train --trace ./model                 ->  --trace: './model' is what the program itself reads; give ...
//   train --save ckpt --metrics ckpt/step-1       ->  --metrics: 'ckpt/step-1' is a name that --save gives to ...
#ifndef CLEAVE_RUNTIME_MAIN_FILEUSE_H
#define CLEAVE_RUNTIME_MAIN_FILEUSE_H

#include "runtime/main/CommandLine.h"

namespace cleave::rt {

// `programFiles` are the executable and the weights beside it. InvalidArgument names the option that writes. What cannot be parsed here is told where it is used.
Status checkFileUse(const Command &command, const std::vector<std::string> &programFiles);

} // namespace cleave::rt

#endif
