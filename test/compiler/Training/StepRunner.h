// Runs the step level in a test: states live in a map, reads become arguments and writes become results.
//
//   StepRunner runner(modelSource, "optimizer=sgd");   // runs training-pipeline and compiles what comes out
//   runner.set("fc.weight", {...});                    // by original name, wherever its bucket is
//   runner.accumulate({{x, labels}});                  // forward and backward of the micro-batches
//   runner.update();
#ifndef CLEAVE_TEST_COMPILER_TRAINING_STEPRUNNER_H
#define CLEAVE_TEST_COMPILER_TRAINING_STEPRUNNER_H

#include "test/dialects/Cleave/ReferenceProgram.h"

namespace cleave::test {

class StepRunner {
public:
  StepRunner(const std::string &model, const std::string &pipelineOptions);

  // False if the model did not parse, lower or compile; diagnostics were printed.
  bool ok() const { return program != nullptr; }

  // A logical tensor inside the states of that suffix: "" the parameter, ".grad" its gradient, ".exp_avg" ...
  Array get(const std::string &originalName, const std::string &suffix = "") const;
  void set(const std::string &originalName, const Array &values);
  double scalar(const std::string &name) const { return states.at("scalar." + name).at(0); }
  void setScalar(const std::string &name, double value);

  // Forward and backward of every micro-batch; one list of inputs, in @model's order, for each.
  void accumulate(const std::vector<Arrays> &microBatches);
  void update() { call("update", {}); }
  // What @model itself returns first, before any pass has seen it, for the parameters as they are now.
  double modelLoss(const Arrays &inputs);
  // Any function with inputs only.
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

  // A chunk's forward or backward function, on what the micro-batch's functions have returned so far.
  Arrays runHalf(const std::string &function, const Arrays &inputs, const Arrays &kept,
                 std::map<std::string, Array> &edges);
  void describeStates(mlir::ModuleOp module);
  void openFunctions(mlir::ModuleOp module);
  void openModel();

  std::string modelSource;
  std::unique_ptr<ReferenceProgram> model; // made when it is asked for
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
