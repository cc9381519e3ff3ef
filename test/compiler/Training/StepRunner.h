// Runs the step level in a test. States are in a map. Reads become arguments, and writes become results.
//
//   StepRunner runner(modelSource, "optimizer=sgd");   // runs training-pipeline and compiles its result
//   runner.set("fc.weight", {...});                    // by original name, in any bucket
//   runner.accumulate({{x, labels}});                  // forward and backward passes of the micro-batches
//   runner.update();
#ifndef CLEAVE_TEST_COMPILER_TRAINING_STEPRUNNER_H
#define CLEAVE_TEST_COMPILER_TRAINING_STEPRUNNER_H

#include "test/dialects/Cleave/ReferenceProgram.h"

namespace cleave::test {

class StepRunner {
public:
  StepRunner(const std::string &model, const std::string &pipelineOptions);

  // False if the model did not parse, lower or compile. Diagnostics have been printed.
  bool ok() const { return program != nullptr; }

  // A tensor of the model, from the states with that suffix: "" is the parameter, ".grad" its gradient, ".exp_avg" ...
  Array get(const std::string &originalName, const std::string &suffix = "") const;
  void set(const std::string &originalName, const Array &values);
  double scalar(const std::string &name) const { return states.at("scalar." + name).at(0); }
  void setScalar(const std::string &name, double value);

  // Runs the forward and backward passes of every micro-batch. Each one has a list of inputs, in @model's order.
  void accumulate(const std::vector<Arrays> &microBatches);
  void update() { call("update", {}); }
  // The first result of the original @model, before any pass, with the present parameters.
  double modelLoss(const Arrays &inputs);
  // Calls any function that has only inputs.
  Arrays call(const std::string &function, const Arrays &inputs);
  int64_t residualElements() const { return residuals; }

private:
  struct Argument {
    int64_t residual = -1; // of the chunk's forward function
    std::string edge;      // or a result of another chunk's
    std::string name;      // or an input
    std::string state;     // or a state
  };
  struct Function {
    std::vector<Argument> arguments;
    std::vector<std::string> edges; // of its results; empty for residuals
    std::vector<std::string> written;
  };
  struct Place {
    std::string state;
    size_t offset, size;
  };

  // Runs a chunk's forward or backward function on the results of the micro-batch's earlier functions.
  Arrays runHalf(const std::string &function, const Arrays &inputs, const Arrays &kept,
                 std::map<std::string, Array> &edges);
  void describeStates(mlir::ModuleOp module);
  void openFunctions(mlir::ModuleOp module);
  void openModel();

  std::string modelSource;
  std::unique_ptr<ReferenceProgram> model; // made when it is first needed
  std::vector<std::string> modelParameters;
  std::unique_ptr<ReferenceProgram> program;
  std::map<std::string, Array> states;
  std::map<std::string, Place> places;
  std::map<std::string, Function> functions;
  std::vector<std::string> inputNames, chunks;
  int64_t residuals = 0;
};

} // namespace cleave::test

#endif
