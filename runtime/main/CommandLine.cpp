#include "runtime/main/CommandLine.h"

#include "runtime/base/OptionText.h"
#include "runtime/main/HelpFormatter.h"
#include "runtime/main/ListOption.h"
#include "runtime/main/MissingValue.h"
#include "runtime/main/UnexpectedArgument.h"
#include "runtime/main/UnknownOption.h"

#include <CLI/CLI.hpp>

namespace cleave::rt {
namespace {

// CLI11 converts by strtoull, which reads "-1" as 2^64 - 1, and "010" as 8.
// `hint` follows the message for a number that is less than `least`.
void takeWholeNumber(CLI::Option *option, uint64_t most, uint64_t least = 0, const char *hint = "") {
  option->transform(CLI::Validator(
      [most, least, hint](std::string &text) -> std::string {
        uint64_t value = 0;
        if (!parseUnsigned(text, &value))
          return text.empty() || text.find_first_not_of("0123456789") != std::string::npos
                     ? "expected a whole number from " + std::to_string(least) + "; got: " + text
                     : "the number is too large: " + text;
        if (value < least)
          return "expected a whole number from " + std::to_string(least) + "; got: " + text + hint;
        if (value > most)
          return "expected a whole number of at most " + std::to_string(most) + "; got: " + text;
        text = std::to_string(value);
        return "";
      },
      ""));
}

// CLI11 converts by strtod, which reads "1e-400" as 0, and "1e400" as infinity.
CLI::Option *takeNumber(CLI::Option *option) {
  return option->transform(CLI::Validator(
      [](std::string &text) -> std::string {
        double value = 0;
        if (text.empty() || parseReal(text, &value))
          return ""; // an empty value has its own message (UnknownOption.h)
        bool isNumber = text.find_first_of("0123456789") != std::string::npos &&
                        text.find_first_not_of("0123456789.eE+-") == std::string::npos;
        return (isNumber ? "the number is outside of the range of f64: " : "expected a number; got: ") + text;
      },
      ""));
}

// `least` is 1 for a number whose default is not 0, but is stored as 0.
template <typename T>
void addCount(CLI::App &command, const char *name, T &target, const char *help, uint64_t least = 0,
              uint64_t most = std::numeric_limits<T>::max()) {
  takeWholeNumber(command.add_option(name, target, help), most, least);
}

void addSessionOptions(CLI::App &command, SessionOptions &session) {
  command
      .add_option("--weights", session.weights,
                  "Weights to use in place of the compiled ones: a safetensors file, a directory of such files, or a "
                  "checkpoint. "
                  "A directory DIR of checkpoints stands for its latest one, DIR/best for its best one")
      ->type_name("PATH");
  addCount(command, "--ranks", session.ranks,
           "Number of ranks. It must be the number that the model was compiled for, which is the default", 1);
  constexpr unsigned kMostThreads = 4096; // as in Rank::create()
  addCount(command, "--threads", session.threads, "Compute threads of each rank (default: as compiled)", 1,
           kMostThreads);
  command
      .add_option("--trace", session.trace,
                  "Write a trace of the run to this file, for Perfetto (ui.perfetto.dev) and cleave inspect --trace")
      ->type_name("FILE");
}

// For commands that draw nothing but weights.
void addInitSeed(CLI::App &command, SessionOptions &session) {
  addCount(command, "--seed", session.seed, "Seed of the weights of cleave compile --init (default: 0)");
}

// `least` and `hint` are for whole numbers.
template <typename T>
void addOptional(CLI::App &command, const char *name, std::optional<T> &target, const char *help, uint64_t least = 0,
                 const char *hint = "") {
  CLI::Option *option = command.add_option_function<T>(
      name, [&target](const T &value) { target = value; }, help);
  if constexpr (std::is_integral_v<T>)
    takeWholeNumber(option, std::numeric_limits<T>::max(), least, hint);
  else if constexpr (std::is_floating_point_v<T>)
    takeNumber(option);
}

void addTrain(CLI::App &command, Command &result) {
  TrainOptions &train = result.train;
  addList(command, "--data", "INPUT=FILE[,FILE][,KEY=VALUE]", train.data,
          "Data of one input: .npy, .npz, .safetensors, or a flat file of tokens. Give it once for each input");
  command
      .add_option_function<std::string>(
          "--last-batch",
          [&train](const std::string &value) { train.lastBatch = value == "pad" ? LastBatch::Pad : LastBatch::Drop; },
          "What happens at the end of an epoch to samples that do not fill a global batch. drop: they are left out. "
          "pad: the first samples fill the batch (default: drop)")
      ->check(CLI::IsMember({"drop", "pad"}));
  addList(command, "--val-data", "INPUT=FILE[,FILE][,KEY=VALUE]", train.valData,
          "Data for evaluation, in the same form. Each sample counts once");
  const char *evaluates = " (evaluate computes the loss without training)";
  addOptional(command, "--epochs", train.epochs, "Passes over the data (default: 1)", 1, evaluates);
  addOptional(command, "--steps", train.steps, "Steps of the whole training, in place of --epochs", 1, evaluates);
  addOptional(command, "--seed", train.seed,
              "Seed of shuffling, of dropout, and of the weights of cleave compile --init (default: 0)");
  command.add_flag("--no-shuffle{false}", train.shuffle, "Take samples in the order of the files");
  addOptional(command, "--lr", train.lr, "Learning rate (default: that of the optimizer, or 1e-3)");
  command
      .add_option(
          "--lr-schedule", train.lrSchedule,
          "How the learning rate changes over the steps. It rises during the warm-up steps. step: multiplied by G "
          "(default 0.1) after every N steps or epochs. cosine, linear: falls to min in `steps` steps, or by the end "
          "of "
          "the run (default: constant):\n"
          "constant[,warmup=N] | step,size=N|Nepoch[,gamma=G][,warmup=N] | cosine[,warmup=N][,min=LR][,steps=N] | "
          "linear[,warmup=N][,min=LR][,steps=N]")
      ->type_name("SCHEDULE");
  addOptional(command, "--clip-grad-norm", train.clipGradNorm,
              "Scale gradients down where the norm of all of them together is larger (default: never)");
  addCount(command, "--eval-every", train.evalEvery,
           "Steps between evaluations of --val-data; 0 evaluates after each epoch (default: 0)");
  command
      .add_option("--save", train.save,
                  "Write checkpoints to this directory. After Ctrl-C, SIGTERM, SIGHUP or SIGPIPE the program then "
                  "finishes the step, saves, and ends")
      ->type_name("DIR");
  addCount(command, "--save-every", train.saveEvery, "Steps between checkpoints (default: one at the end)", 1);
  addCount(command, "--keep", train.keep, "Number of checkpoints to keep, the newest ones; 0 keeps all (default: 0)");
  command.add_flag("--save-best", train.saveBest,
                   "Save after each evaluation whose loss is the lowest so far, as DIR/best");
  addOptional(
      command, "--keep-best", train.keepBest,
      "Number of checkpoints of --save-best to keep; 0 keeps all. Those of --save-every are not counted (default: 1)");
  addCount(command, "--patience", train.patience,
           "Stop after this many evaluations without a lower loss; 0 never stops (default: 0)");
  command
      .add_option_function<std::string>(
          "--checkpoint",
          [&train](const std::string &value) {
            train.checkpoint = value == "full" ? CheckpointForm::Full : CheckpointForm::Sharded;
          },
          "Form of a checkpoint. sharded: each rank writes a file with its part. full: one file has everything "
          "(default: sharded)")
      ->check(CLI::IsMember({"sharded", "full"}));
  command.add_flag_function(
      "--save-async,!--no-save-async",
      [&train, &command](int64_t sum) {
        if (command.count("--save-async") != static_cast<size_t>(std::abs(sum))) // one flag counts 1, the other -1
          throw CLI::ValidationError("--save-async", "given together with --no-save-async; leave one of them out");
        train.saveAsync = sum > 0;
      },
      "Whether checkpoints are written while training goes on. The model must be compiled with --save-async, and then "
      "this is the default");
  command
      .add_option("--resume", train.resume,
                  "Continue from this checkpoint. A directory DIR of checkpoints stands for its latest one, DIR/best "
                  "for its best one. "
                  "auto: the latest one in the directory of --save, or the beginning if there is none")
      ->type_name("PATH|auto");
  addCount(command, "--log-every", train.logEvery, "Steps between lines of progress (default: 10)", 1);
  command.add_option("--metrics", train.metrics, "Write one JSON object for each step to this file")->type_name("FILE");
  command.add_option("--tensorboard", train.tensorboard, "Write TensorBoard events to this directory")
      ->type_name("DIR");
  addSessionOptions(command, result.session);
}

void addGenerate(CLI::App &command, Command &result) {
  GenerateOptions &generate = result.generate;
  command
      .add_option("--input", generate.input,
                  "Name of the input of tokens, which is integers [batch, context] (default: the only one)")
      ->type_name("NAME");
  command
      .add_option("--output", generate.output,
                  "Name of the output of scores [batch, context, vocabulary] (default: the only one)")
      ->type_name("NAME");
  addOptional(
      command, "--prompt", generate.prompt,
      "Text to continue, for models whose tokens are the 256 bytes, or with --tokenizer. The program prints text "
      "(default: one line break)");
  command
      .add_option("--prompt-ids", generate.promptIds,
                  "Tokens to continue, such as 1,2,3 or @FILE, for models with any vocabulary. The program prints "
                  "numbers")
      ->type_name("IDS|@FILE");
  command
      .add_option(
          "--tokenizer", generate.tokenizer,
          "The tokenizer.json of a Hugging Face model, such as GPT-2, Llama, Qwen, T5 or BERT. The program then reads "
          "and prints text")
      ->type_name("FILE");
  addList(command, "--fill", "INPUT=NUMBER|positions", generate.fills,
          "Values of another input that the output depends on: one number everywhere, or the positions 0, 1, 2, ... "
          "Give it once for each such input");
  addCount(command, "--tokens", generate.tokens, "Number of tokens to generate (default: 200)");
  addCount(command, "--bytes", generate.tokens, "Another name of --tokens, for models whose tokens are bytes");
  command
      .add_option("--end-token", generate.endTokens,
                  "Stop after one of these tokens, such as 2 or 2,7; with --tokenizer also by name, such as "
                  "'<|endoftext|>' (default: none)")
      ->type_name("IDS");
  takeNumber(command.add_option(
                 "--temperature", generate.sampling.temperature,
                 "0 always takes the likeliest token. 1 draws tokens with the predicted probabilities. Between them, "
                 "likely tokens are drawn more often than predicted (default: 0.8)"))
      ->type_name("NUMBER");
  addCount(command, "--top-k", generate.sampling.topK, "Draw from the N likeliest tokens only (default: all)", 1);
  takeNumber(
      command.add_option("--top-p", generate.sampling.topP,
                         "Draw from the fewest tokens whose probabilities add up to this number, after --temperature "
                         "and --top-k (default: 1, all)"))
      ->type_name("NUMBER");
  addCount(command, "--seed", generate.seed,
           "Seed by which tokens are drawn, and the numbers of random operators (default: 0)");
  addSessionOptions(command, result.session);
}

Status unknownOption(const CLI::App &command, const std::vector<std::string> &arguments, const std::string &typed) {
  std::string name = typed.substr(0, typed.find('=')), help = "; see " + command.get_name() + " --help";
  if (name.size() > 1 && name[0] == '-')
    return invalidArgument(describeUnknownOption(command, KnownProgram::Compiled, name, help));
  return invalidArgument(describeUnexpected(command, arguments, typed, help));
}

struct Parser {
  CLI::App app{"A model compiled by Cleave."};
  CLI::App *infer, *train, *evaluate, *generate, *inspect;

  Parser(const std::string &program, Command &result) {
    app.name(program);
    app.formatter(std::make_shared<HelpFormatter>());
    infer = app.add_subcommand("infer", "Compute the outputs for arrays");
    train = app.add_subcommand("train", "Train the model");
    evaluate = app.add_subcommand("evaluate", "Compute loss and accuracy on data");
    generate = app.add_subcommand("generate", "Continue a text, or a list of tokens, with a language model");
    inspect = app.add_subcommand("inspect", "Show the plan: memory, traffic, instructions");
    addList(*infer, "--input", "INPUT=FILE[,KEY=VALUE]", result.inputs,
            "Array of one input, in the form of train --data. Give it once for each input that the outputs depend on");
    addList(*infer, "--output", "OUTPUT=FILE.npy", result.outputs,
            "Write one output to a file. Give it once for each output that you want");
    addSessionOptions(*infer, result.session);
    addInitSeed(*infer, result.session);
    addTrain(*train, result);
    addList(*evaluate, "--data", "INPUT=FILE[,FILE][,KEY=VALUE]", result.train.data,
            "Data of one input, in the form of train --data. Give it once for each input");
    addSessionOptions(*evaluate, result.session);
    addInitSeed(*evaluate, result.session);
    addGenerate(*generate, result);
    inspect->add_flag("--json", result.json, "Print JSON, for other programs");
    app.set_version_flag("--version", "compiled by " CLEAVE_VERSION);
    app.require_subcommand(0, 1);
    app.allow_extras();
    for (CLI::App *command : app.get_subcommands({}))
      command->allow_extras();
    addExamples(program);
  }

  void addExamples(const std::string &program) {
    std::string run = "  ./" + program;
    app.footer("Examples:\n" + run + " infer --input x=batch.npy --output y=y.npy\n" + run +
               " train --data x=images.npy,mean=0.1307,std=0.3081 --data labels=labels.npy --epochs 3 --save ckpt\n" +
               run + " inspect");
    train->footer("Examples:\n" + run + " train --data x=x.npy --data labels=y.npy --epochs 3 --lr 0.01\n" + run +
                  " train --data tokens=text.bin:u8,window=64,shift=0 --data labels=text.bin:u8,window=64,shift=1 \\\n"
                  "      --steps 200 --lr 3e-4 --lr-schedule cosine,warmup=20 --save ckpt --save-every 100 "
                  "--resume auto");
    infer->footer("Example:\n" + run + " infer --input x=batch.npy --output y=y.npy --weights ckpt");
    inspect->footer("Examples:\n" + run + " inspect\n" + run + " inspect --json > plan.json");
    evaluate->footer("Example:\n" + run + " evaluate --data x=x.npy --data labels=y.npy --weights ckpt");
    generate->footer("Examples:\n" + run +
                     " generate --prompt \"The license \" --tokens 200 --temperature 0.8 --seed 1\n" + run +
                     " generate --prompt-ids 464,5964 --tokens 50 --top-k 40 --top-p 0.9 --end-token 50256\n" + run +
                     " generate --prompt-ids @prompt.txt --fill attention_mask=1 --fill position_ids=positions");
  }

  // Returns the subcommand on the command line, or null if there is none.
  CLI::App *chosen() const {
    std::vector<CLI::App *> parsed = app.get_subcommands();
    return parsed.empty() ? nullptr : parsed[0];
  }

  CommandKind kind() const {
    const CLI::App *command = chosen();
    return command == infer      ? CommandKind::Infer
           : command == train    ? CommandKind::Train
           : command == evaluate ? CommandKind::Evaluate
           : command == generate ? CommandKind::Generate
                                 : CommandKind::Inspect;
  }
};

Status checkRest(const Parser &parser, const std::vector<std::string> &arguments) {
  CLI::App *command = parser.chosen();
  std::vector<std::string> extras = parser.app.remaining();
  if (!command) {
    if (extras.empty())
      return invalidArgument("no command; expected infer, train, evaluate, generate or inspect (see --help)");
    if (extras[0][0] == '-')
      return unknownOption(parser.app, arguments, extras[0]);
    std::vector<std::string> names;
    for (const CLI::App *sub : parser.app.get_subcommands([](const CLI::App *) { return true; }))
      names.push_back(sub->get_name());
    return invalidArgument(describeUnknownCommand(KnownProgram::Compiled, extras[0], names));
  }
  std::vector<std::string> rest = command->remaining();
  rest.insert(rest.end(), extras.begin(), extras.end());
  return rest.empty() ? Status::ok() : unknownOption(*command, arguments, rest[0]);
}

// Some messages of CLI11 have several lines. Those of Cleave have one.
std::string firstLine(std::string text) {
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

} // namespace

Status parseCommandLine(int argc, const char *const *argv, const std::string &program, Command *result) {
  Command command;
  try {
    Parser parser(program, command);
    std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
    if (std::string wrong = findSwitchValue(parser.app, arguments); !wrong.empty())
      return invalidArgument(wrong);
    if (std::string wrong = findMissingValue(parser.app, arguments); !wrong.empty())
      return invalidArgument(wrong);
    try {
      parser.app.parse(argc, argv);
    } catch (const CLI::CallForHelp &) {
      const CLI::App *sub = parser.chosen();
      result->kind = CommandKind::Help;
      result->help = sub ? sub->help(program) : parser.app.help();
      return Status::ok();
    } catch (const CLI::CallForVersion &) {
      result->kind = CommandKind::Help;
      result->help = parser.app.version() + "\n";
      return Status::ok();
    }
    CLEAVE_TRY(checkRest(parser, arguments));
    if (std::string wrong = findEmptyValue(*parser.chosen(), "--prompt"); !wrong.empty())
      return invalidArgument(wrong);
    if (parser.generate->count("--tokens") != 0 && parser.generate->count("--bytes") != 0)
      return invalidArgument("--bytes is another name of --tokens; give one of the two");
    command.kind = parser.kind();
    const CLI::Option *seed = parser.chosen()->get_option_no_throw("--seed");
    command.givesSeed = seed && seed->count() != 0;
    if (command.kind == CommandKind::Train)
      command.session.seed = command.train.seed.value_or(0);
    // With auto, there may be no checkpoint yet to resume from.
    if (!command.train.resume.empty() && command.train.resume != "auto" && !command.session.weights.empty())
      return invalidArgument("--weights: --resume brings the weights, too; give one of the two");
  } catch (const CLI::ArgumentMismatch &error) {
    return invalidArgument(describeMismatch(firstLine(error.what())));
  } catch (const CLI::Error &error) {
    return invalidArgument(describeValue(firstLine(error.what())));
  }
  *result = std::move(command);
  return Status::ok();
}

} // namespace cleave::rt
