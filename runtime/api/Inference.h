// `infer`: reads arrays from files, runs the model on any number of samples, and writes arrays to files.
//
// If there are more samples than the compiled batch has, they are run in batches, which are spread over the data ranks.
// The last batch is filled up with the first samples, and their results are cut from the outputs.
#ifndef CLEAVE_RUNTIME_API_INFERENCE_H
#define CLEAVE_RUNTIME_API_INFERENCE_H

#include "runtime/train/data/DataSet.h"

namespace cleave::rt {

// `inputs` are data specs (x=batch.npy). `outputs` name the outputs to write, as OUTPUT=FILE.npy. Under MPI, rank 0
// writes the results of all ranks.
Status inferFiles(Session &session, const std::vector<std::string> &inputs, const std::vector<std::string> &outputs);

} // namespace cleave::rt

#endif
