// Refuses a command that writes a file which it also reads, or which it also writes for another option.
//
//   infer --input x=a.npy --output y=a.npy   ->  --output: 'a.npy' is the file that --input reads; give another name
//   train --metrics log --trace log          ->  --trace: 'log' is the file that --metrics writes; give another name
//   ./model train --trace ./model            ->  --trace: './model' is the file that the program itself reads; ...
//   train --save ckpt --metrics ckpt/step-1  ->  --metrics: 'ckpt/step-1' is a name that --save gives to ...
#ifndef CLEAVE_RUNTIME_MAIN_FILEUSE_H
#define CLEAVE_RUNTIME_MAIN_FILEUSE_H

#include "runtime/main/CommandLine.h"

namespace cleave::rt {

// `programFiles` are the executable and its weights file. Fails with InvalidArgument, which names the option that
// writes. Values that cannot be parsed here are ignored; the code that uses them reports them.
Status checkFileUse(const Command &command, const std::vector<std::string> &programFiles);

} // namespace cleave::rt

#endif
