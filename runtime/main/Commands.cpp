#include "runtime/main/Commands.h"

#include "runtime/api/Inference.h"
#include "runtime/base/CaughtStatus.h"
#include "runtime/base/Counted.h"
#include "runtime/base/Log.h"
#include "runtime/base/OptionText.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Termination.h"
#include "runtime/comm/Launcher.h"
#include "runtime/comm/MpiCommunicator.h"
#include "runtime/comm/PeerMonitor.h"
#include "runtime/main/FileUse.h"
#include "runtime/main/LostPages.h"
#include "runtime/plan/PlanPrinter.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/PlanSummary.h"
#include "runtime/plan/ScalarNames.h"
#include "runtime/session/SameRun.h"
#include "runtime/session/ScalarStates.h"
#include "runtime/train/data/DataSpec.h"
#include "runtime/train/loop/TrainLoop.h"

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <unistd.h>

namespace cleave::rt {
namespace {

std::string executablePath() {
  char path[PATH_MAX];
  ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  return std::string(path, size > 0 ? static_cast<size_t>(size) : 0);
}

Status inspect(const cleave_model &model, const std::string &name, bool json) {
  const fb::Plan *plan = nullptr;
  CLEAVE_TRY(openPlan(model.plan, model.plan_size, &plan));
  PlanSummary summary = summarize(*plan);
  std::string text =
      json ? summaryJson(*plan, summary)
           : printSummary(*plan, summary) + printUnits(*plan) + printPorts(*plan) + "\n" + printPlan(*plan);
  if (!json)
    std::fprintf(stderr, "cleave inspect %s has more readable forms: a summary, --timeline, --html FILE\n",
                 name.c_str());
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!text.empty() && text.back() != '\n')
    std::putchar('\n');
  return Status::ok();
}

constexpr EndHints kEndHints{"\nfinishing the step, then saving; once more to end at once\n",
                             "nobody reads the output any more: finishing the step, then saving\n"};

void tellWeights(const Session &session) {
  if (session.isLeader() && !session.weightsCheckpoint().empty())
    std::fprintf(stderr, "weights of %s\n", printable(session.weightsCheckpoint()).c_str());
}

// With --resume auto, --weights is used only at the first start. The text names the weights that are really used.
void tellWeights(const Session &session, const std::string &weights, const TrainLoop &loop) {
  if (loop.resumedFrom().empty())
    return tellWeights(session);
  if (session.isLeader() && !weights.empty())
    std::fprintf(stderr, "--weights has no effect: --resume auto goes on from %s, with the weights of that\n",
                 printable(loop.resumedFrom()).c_str());
}

Status train(Session &session, const TrainOptions &options, const SessionOptions &opened, int *stoppedBy) {
  TrainLoop loop;
  CLEAVE_TRY(TrainLoop::open(session, options, &loop));
  tellWeights(session, opened.weights, loop);
  // If nothing would be saved, there is nothing to wait for. Under a launcher there are no hints, because it shows the
  // texts of all processes.
  bool launched = startedAsOneOfSeveral();
  if (!options.save.empty())
    endInOrder(launched ? EndHints{} : kEndHints, launched);
  CLEAVE_TRY(loop.run());
  *stoppedBy = loop.stoppedBy();
  unsigned threads = opened.threads ? opened.threads : std::max(1u, session.plan().threads());
  std::string times = stepTimeReport(session.plan(), loop.stepTimes(), threads);
  if (session.isLeader() && !times.empty()) {
    std::fflush(stdout); // so that the lines of the steps come first
    std::fprintf(stderr, "%s\n", times.c_str());
  }
  return Status::ok();
}

// The weights of a program that trains are often those of a model that is not trained yet.
void tellCompiledWeights(const Session &session, const std::string &weights) {
  if (session.isLeader() && weights.empty() && !session.hasDrawnWeights())
    std::fprintf(stderr, "the weights are those that were compiled; --weights gives others, such as a checkpoint of "
                         "train --save\n");
}

Status evaluate(Session &session, const TrainOptions &options, const std::string &weights) {
  SameRun same;
  same.add("--data", textWithoutFiles(options.data));
  CLEAVE_TRY(same.check(session));
  Evaluator evaluator;
  Evaluation evaluation;
  CLEAVE_TRY(Evaluator::open(session, options.data, "--data", &evaluator));
  tellCompiledWeights(session, weights);
  CLEAVE_TRY(evaluator.run(&evaluation));
  if (!session.isLeader())
    return Status::ok();
  std::printf("loss %.6f", evaluation.loss);
  if (evaluation.accuracy)
    std::printf("  accuracy %s", percent(*evaluation.accuracy).c_str());
  std::printf("  (%s)\n", counted(evaluation.samples, "sample").c_str());
  return Status::ok();
}

std::string joinTokens(const std::vector<uint64_t> &tokens) {
  std::string text;
  for (uint64_t token : tokens)
    text += (text.empty() ? "" : ",") + std::to_string(token);
  return text;
}

Status checkSameGeneration(Session &session, const GenerateOptions &options, const Prompt &prompt) {
  std::string fills;
  for (const std::string &fill : options.fills)
    fills += fill + '\n';
  SameRun same;
  same.add("--input", options.input);
  same.add("--output", options.output);
  same.add(prompt.isText ? "--prompt" : "--prompt-ids", (prompt.isText ? "text " : "ids ") + joinTokens(prompt.tokens));
  same.add("--fill", fills);
  same.add("--tokens", std::to_string(options.tokens));
  same.add("--end-token", options.endTokens);
  same.add("--temperature", realText(options.sampling.temperature));
  same.add("--top-k", std::to_string(options.sampling.topK));
  same.add("--top-p", realText(options.sampling.topP));
  same.add("--seed", std::to_string(options.seed));
  return same.check(session);
}

void print(const std::string &text) { std::fwrite(text.data(), 1, text.size(), stdout); }

Status generateTokens(Session &session, const GenerateOptions &options) {
  Prompt prompt;
  CLEAVE_TRY(readPrompt(options, &prompt));
  CLEAVE_TRY(checkSameGeneration(session, options, prompt));
  bool leader = session.isLeader();
  if (leader && prompt.isText && prompt.tokenizer && !prompt.tokenizer->note().empty())
    log(LogLevel::Warning, -1, "--tokenizer: " + options.tokenizer + ": " + prompt.tokenizer->note());
  bool begun = false;
  TokenText text(prompt);
  auto show = [&](uint64_t token) {
    if (!leader)
      return;
    for (size_t i = 0; !begun && i < prompt.tokens.size(); ++i) // only with the first generated token
      print(text.next(prompt.tokens[i]));
    begun = true;
    print(text.next(token));
    std::fflush(stdout);
  };
  CLEAVE_TRY(generate(session, options, prompt, show));
  if (leader)
    std::putchar('\n');
  return Status::ok();
}

// Says that --seed has no effect, or returns an empty text if it has. infer and evaluate draw only weights. generate
// draws tokens, unless it is greedy, and the numbers of random operators.
std::string idleSeed(Session &session, const Command &command) {
  bool drawsWeights = command.kind == CommandKind::Infer || command.kind == CommandKind::Evaluate;
  if (!command.givesSeed)
    return "";
  bool drawsNumbers = ScalarState(session, kSeedScalar).exists();
  if (command.kind == CommandKind::Generate && command.generate.sampling.temperature == 0 && !drawsNumbers)
    return "--seed has no effect: with --temperature 0 the most probable token is taken each time; leave it out";
  if (!drawsWeights || session.hasDrawnWeights())
    return "";
  return std::string("--seed has no effect: ") +
         (command.session.weights.empty() ? "the model has all its weights" : "--weights brings the weights") +
         ", and none are drawn; leave it out";
}

Status runOn(Session &session, const Command &command, int *stoppedBy) {
  switch (command.kind) {
  case CommandKind::Infer:
    return inferFiles(session, command.inputs, command.outputs);
  case CommandKind::Train:
    return train(session, command.train, command.session, stoppedBy);
  case CommandKind::Evaluate:
    return evaluate(session, command.train, command.session.weights);
  case CommandKind::Generate:
    return generateTokens(session, command.generate);
  case CommandKind::Inspect:
  case CommandKind::Help:
    break;
  }
  return internal("a command without an implementation");
}

// The entry program that a command needs. It is looked for before memory is allocated and weights are read.
const char *neededProgram(CommandKind kind) {
  return kind == CommandKind::Train ? "train_step" : kind == CommandKind::Evaluate ? "evaluate" : "infer";
}

Status guardedRun(const cleave_model &model, const Command &command, int *stoppedBy) {
  try {
    return runCommand(model, command, stoppedBy);
  } catch (...) {
    return caughtStatus();
  }
}

// The file name that the user typed, for messages. `model.name` is only meant for symbols.
std::string programName() {
  std::string path = executablePath();
  return printable(path.substr(path.find_last_of('/') + 1));
}

// True for a mistake on the command line. Messages about those begin with the option.
bool isUsage(const Status &status) {
  return status.code() == Code::InvalidArgument && (status.message().empty() || status.message()[0] == '-');
}

void report(const std::string &message) {
  std::fflush(stdout);
  std::string line = programName() + ": error: " + printable(message) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

} // namespace

Status runCommand(const cleave_model &model, const Command &command, int *stoppedBy) {
  *stoppedBy = 0;
  if (command.kind == CommandKind::Help) {
    std::fputs(command.help.c_str(), stdout);
    return Status::ok();
  }
  if (command.kind == CommandKind::Inspect)
    return inspect(model, programName(), command.json);
  SessionOptions options = command.session;
  std::string path = executablePath();
  size_t slash = path.find_last_of('/');
  options.directory = slash == std::string::npos ? "." : path.substr(0, slash);
  std::vector<std::string> programFiles{path};
  if (model.weights_file)
    programFiles.push_back(options.directory + "/" + model.weights_file);
  CLEAVE_TRY(checkFileUse(command, programFiles));
  logEnabled(LogLevel::Error); // warns if CLEAVE_LOG is no level
  options.notesTermination = true;
  options.program = neededProgram(command.kind);
  options.command = std::to_string(static_cast<int>(command.kind));
  Session session;
  CLEAVE_TRY(Session::open(model, options, &session));
  if (command.kind != CommandKind::Train)
    tellWeights(session);
  if (std::string idle = idleSeed(session, command); session.isLeader() && !idle.empty())
    std::fprintf(stderr, "%s\n", idle.c_str());
  if (session.isLeader() && session.hasDrawnWeights() && command.kind != CommandKind::Train)
    std::fprintf(stderr, "the weights are drawn by %s %llu, not trained; --weights gives others\n",
                 command.kind == CommandKind::Generate ? "seed" : "--seed", // generate has --seed for its tokens
                 static_cast<unsigned long long>(options.seed));
  Status status = runOn(session, command, stoppedBy);
  std::string memory = session.memoryReport(); // measured before the text of the trace is made, which needs memory too
  // Written after an error too: then the trace up to the failure is what the user needs.
  Status traced = session.writeTrace();
  if (status.isOk())
    status = std::move(traced).in("--trace");
  if (!status.isOk()) {
    // Before the session is destroyed, which takes time: a launcher that has seen a rank die soon kills the others.
    report(status.code() == Code::PeerLost ? putLossFirst(status.message()) : status.message());
    session.abandon(status);
    return {isUsage(status) || status.code() != Code::InvalidArgument ? status.code() : Code::DataLoss, ""};
  }
  if (session.isLeader()) {
    std::fflush(stdout); // so that the output of the command comes first
    std::fprintf(stderr, "%s\n", memory.c_str());
  }
  return Status::ok();
}

int runMain(int argc, const char *const *argv, const cleave_model &model) {
  setLogProgram(programName());
  endProcessIfMpiHangs();
  if (launcher() == Launcher::Mpi)
    noteTermination();
  // Then a file beyond the size limit (ulimit -f) is an error of write(), like a full disk, and has a message.
  std::signal(SIGXFSZ, SIG_IGN);
  explainLostPages(programName());
  Command command;
  Status status = parseCommandLine(argc, argv, programName(), &command);
  int code = 2, stoppedBy = 0;
  if (status.isOk()) {
    status = guardedRun(model, command, &stoppedBy);
    code = isUsage(status) ? 2 : 1;
  }
  // If a write inside of fwrite() has failed, nothing is left to flush, but ferror() is set. If the reader has ended,
  // SIGPIPE has already said so.
  bool written = std::fflush(stdout) == 0 && !std::ferror(stdout);
  if (status.isOk() && (written || stoppedBy == SIGPIPE))
    return stoppedBy ? 128 + stoppedBy : 0;
  std::string message = status.isOk() ? "cannot write to stdout" : status.message();
  if (!message.empty())
    report(message);
  return status.isOk() ? 1 : code;
}

} // namespace cleave::rt
