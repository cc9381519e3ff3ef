// `infer`: arrays in, arrays out, any number of samples.
//
// Inputs longer than the compiled batch are run in batches spread over the data ranks; the tail is padded with the
// first samples and cut from the outputs.
#ifndef CLEAVE_RUNTIME_API_INFERENCE_H
#define CLEAVE_RUNTIME_API_INFERENCE_H

#include "runtime/train/data/DataSet.h"

namespace cleave::rt {

// `inputs` are data specs (x=batch.npy); `outputs` are OUTPUT=FILE.npy, and name the outputs to write. Under MPI rank 0
// writes what all ranks computed.
Status inferFiles(Session &session, const std::vector<std::string> &inputs, const std::vector<std::string> &outputs);

} // namespace cleave::rt

#endif
