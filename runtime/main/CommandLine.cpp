#include "runtime/main/CommandLine.h"

#include "runtime/main/UnknownOption.h"
#include "runtime/train/DataSpec.h"

#include <CLI/CLI.hpp>

namespace cleave::rt {
namespace {

// CLI11 converts by strtoull, which makes 2^64 - 1 of "-1" and 8 of "010".
void takeWholeNumber(CLI::Option *option, uint64_t most) {
  option->transform(CLI::Validator(
      [most](std::string &text) -> std::string {
        uint64_t value = 0;
        if (!parseUnsigned(text, &value))
          return text.empty() || text.find_first_not_of("0123456789") != std::string::npos
                     ? "expected a whole number from 0; got: " + text
                     : "the number is too large: " + text;
        if (value > most)
          return "expected a whole number of at most " + std::to_string(most) + "; got: " + text;
        text = std::to_string(value);
        return "";
      },
      ""));
}

template <typename T> void addCount(CLI::App &command, const char *name, T &target, const char *help) {
  takeWholeNumber(command.add_option(name, target, help), std::numeric_limits<T>::max());
}

// For numbers whose default is not 0, though 0 stands for it within.
void rejectZero(CLI::Option *option) {
  option->check([](const std::string &text) { return text == "0" ? "must be at least 1" : std::string(); });
}

void addSessionOptions(CLI::App &command, SessionOptions &session) {
  command.add_option("--weights", session.weights,
                     "Weights instead of the compiled ones: a safetensors file, a directory of them, or a checkpoint "
                     "(a directory DIR of checkpoints: its latest one; DIR/best: its best one)");
  addCount(command, "--ranks", session.ranks, "Ranks; must be the product of the mesh, which is the default");
  addCount(command, "--threads", session.threads, "Compute threads per rank [as compiled]");
  for (const char *name : {"--ranks", "--threads"})
    rejectZero(command.get_option(name));
  command.add_option("--trace", session.trace, "Write a Chrome/Perfetto trace to this file");
}

// Of commands that draw nothing else.
void addInitSeed(CLI::App &command, SessionOptions &session) {
  addCount(command, "--seed", session.seed, "Seed of weights that are drawn (compile --init) [0]");
}

// Options that may be given several times, each with one value: --data a=... --data b=...
void addList(CLI::App &command, const char *name, std::vector<std::string> &list, const char *help) {
  command.add_option(name, list, help)->allow_extra_args(false);
}

template <typename T>
void addOptional(CLI::App &command, const char *name, std::optional<T> &target, const char *help) {
  CLI::Option *option = command.add_option_function<T>(
      name, [&target](const T &value) { target = value; }, help);
  if constexpr (std::is_integral_v<T>)
    takeWholeNumber(option, std::numeric_limits<T>::max());
}

void addTrain(CLI::App &command, Command &result) {
  TrainOptions &train = result.train;
  addList(command, "--data", train.data, "INPUT=FILE[,FILE...][,key=value...]: data of an input; once per input");
  command
      .add_option_function<std::string>(
          "--last-batch",
          [&train](const std::string &value) { train.lastBatch = value == "pad" ? LastBatch::Pad : LastBatch::Drop; },
          "drop | pad: samples that do not fill a global batch are left out, or the batch is filled up with the first samples [drop]")
      ->check(CLI::IsMember({"drop", "pad"}));
  addList(command, "--val-data", train.valData, "The same for evaluation; each sample counts once");
  addOptional(command, "--epochs", train.epochs, "Passes over the data [1]");
  addOptional(command, "--steps", train.steps, "Steps, instead of --epochs");
  addOptional(command, "--seed", train.seed, "Seed of shuffling, dropout, and weights that are drawn (compile --init) [0]");
  command.add_flag("--no-shuffle{false}", train.shuffle, "Take samples in their order");
  addOptional(command, "--lr", train.lr, "Learning rate [the optimizer's, else 1e-3]");
  command.add_option("--lr-schedule", train.lrSchedule,
                     "constant | step,size=N|Nepoch,gamma=G | cosine[,warmup=N][,min=LR] | linear[,warmup=N][,min=LR]");
  addOptional(command, "--clip-grad-norm", train.clipGradNorm, "Largest norm of all gradients together [off]");
  addCount(command, "--eval-every", train.evalEvery, "Steps between evaluations [each epoch]");
  command.add_option("--save", train.save,
                     "Directory of checkpoints; with it, Ctrl-C, SIGTERM and SIGHUP finish the step, save, and end the run");
  addCount(command, "--save-every", train.saveEvery, "Steps between checkpoints [the end only]");
  addCount(command, "--keep", train.keep, "Newest checkpoints to keep [all]");
  command.add_flag("--save-best", train.saveBest, "Save whenever the validation loss is the best so far");
  addOptional(command, "--keep-best", train.keepBest,
              "Best checkpoints of --save-best to keep; those of --save-every stay; 0: all [1]");
  addCount(command, "--patience", train.patience, "Stop after this many evaluations without a better loss [never]");
  command
      .add_option_function<std::string>(
          "--checkpoint",
          [&train](const std::string &value) {
            train.checkpoint = value == "full" ? CheckpointForm::Full : CheckpointForm::Sharded;
          },
          "sharded | full: each rank writes a file with its part, or all is in one file [sharded]")
      ->check(CLI::IsMember({"sharded", "full"}));
  command.add_flag_function(
      "--save-async,!--no-save-async", [&train](int64_t count) { train.saveAsync = count > 0; },
      "Save in the background [where the model was compiled with --save-async]");
  command.add_option("--resume", train.resume,
                     "A checkpoint to go on from (a directory DIR of checkpoints: its latest one; DIR/best: its best one), or auto: the latest of --save, if there is one");
  addCount(command, "--log-every", train.logEvery, "Steps between lines of progress [10]");
  command.add_option("--metrics", train.metrics, "Write one JSON object per step to this file");
  command.add_option("--tensorboard", train.tensorboard, "Write TensorBoard events to this directory");
  addSessionOptions(command, result.session);
}

void addGenerate(CLI::App &command, Command &result) {
  GenerateOptions &generate = result.generate;
  command.add_option("--input", generate.input, "The integer input [batch, context] of the tokens [the only one]");
  command.add_option("--output", generate.output, "The output [batch, context, vocabulary] [the only one]");
  addOptional(command, "--prompt", generate.prompt,
              "The text to go on from, for models whose tokens are the 256 bytes; text comes out [a line's end]");
  command.add_option("--prompt-ids", generate.promptIds,
                     "The tokens to go on from, as 1,2,3 or @FILE, for models of any vocabulary; numbers come out");
  addList(command, "--fill", generate.fills,
          "INPUT=NUMBER | INPUT=positions: what another input holds that the output depends on; once per input");
  addCount(command, "--tokens", generate.tokens, "Tokens to write [200]");
  addCount(command, "--bytes", generate.tokens, "The same, of models whose tokens are bytes");
  command.get_option("--tokens")->excludes("--bytes");
  command.add_option("--end-token", generate.endTokens, "Tokens after which writing ends, as 2 or 2,7 [none]");
  command.add_option("--temperature", generate.sampling.temperature,
                     "0 takes the likeliest token; 1 samples as predicted [0.8]");
  addCount(command, "--top-k", generate.sampling.topK, "Sample from this many of the likeliest tokens [all]");
  rejectZero(command.get_option("--top-k"));
  command.add_option("--top-p", generate.sampling.topP,
                     "Sample from the fewest tokens whose share is this, after --temperature and --top-k [1: all]");
  addCount(command, "--seed", generate.seed, "Seed of sampling [0]");
  addSessionOptions(command, result.session);
}

Status unknownOption(const CLI::App &command, const std::string &typed) {
  std::string name = typed.substr(0, typed.find('=')), help = "; see " + command.get_name() + " --help";
  if (name.size() > 1 && name[0] == '-')
    return invalidArgument(describeUnknownOption(command, name, help));
  return invalidArgument(command.get_name() + ": '" + typed + "' belongs to no option" + help);
}

struct Parser {
  CLI::App app{"A model compiled by Cleave."};
  CLI::App *infer, *train, *evaluate, *generate, *inspect;

  Parser(const std::string &program, Command &result) {
    app.name(program);
    infer = app.add_subcommand("infer", "Run the model on arrays");
    train = app.add_subcommand("train", "Train the model");
    evaluate = app.add_subcommand("evaluate", "Compute loss and accuracy on data");
    generate = app.add_subcommand("generate", "Write with a language model: text, or token ids");
    inspect = app.add_subcommand("inspect", "Show the plan: memory, traffic, instructions");
    addList(*infer, "--input", result.inputs,
            "INPUT=FILE: the data of an input; once per input that the outputs depend on");
    addList(*infer, "--output", result.outputs, "OUTPUT=FILE.npy: where an output goes");
    addSessionOptions(*infer, result.session);
    addInitSeed(*infer, result.session);
    addTrain(*train, result);
    addList(*evaluate, "--data", result.train.data, "INPUT=FILE[,...]: data of an input; once per input");
    addSessionOptions(*evaluate, result.session);
    addInitSeed(*evaluate, result.session);
    addGenerate(*generate, result);
    inspect->add_flag("--json", result.json, "As JSON");
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
               " train --data x=images.npy,mean=0.1307,std=0.3081 --data label=labels.npy --epochs 3 --save ckpt\n" +
               run + " inspect");
    train->footer("Examples:\n" + run + " train --data x=x.npy --data label=y.npy --epochs 3 --lr 0.01\n" + run +
                  " train --data tokens=text.bin:u8,window=64,shift=0 --data labels=text.bin:u8,window=64,shift=1 \\\n"
                  "      --steps 200 --lr 3e-4 --lr-schedule cosine,warmup=20 --save ckpt --save-every 100 "
                  "--resume auto");
    infer->footer("Example:\n" + run + " infer --input x=batch.npy --output y=y.npy --weights ckpt");
    evaluate->footer("Example:\n" + run + " evaluate --data x=x.npy --data label=y.npy --weights ckpt");
    generate->footer("Examples:\n" + run + " generate --prompt \"The license \" --tokens 200 --temperature 0.8 --seed 1\n" +
                     run + " generate --prompt-ids 464,5964 --tokens 50 --top-k 40 --top-p 0.9 --end-token 50256\n" +
                     run + " generate --prompt-ids @prompt.txt --fill attention_mask=1 --fill position_ids=positions");
  }

  // The subcommand on the command line; null when there is none.
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

Status checkRest(const Parser &parser) {
  CLI::App *command = parser.chosen();
  std::vector<std::string> extras = parser.app.remaining();
  if (!command) {
    if (extras.empty())
      return invalidArgument("no command; expected infer, train, evaluate, generate or inspect (see --help)");
    if (extras[0][0] == '-')
      return unknownOption(parser.app, extras[0]);
    std::vector<std::string> names;
    for (const CLI::App *sub : parser.app.get_subcommands([](const CLI::App *) { return true; }))
      names.push_back(sub->get_name());
    std::string near = didYouMean(extras[0], names);
    return invalidArgument("unknown command '" + extras[0] + "'" +
                           (near.empty() ? "; expected " + joinNames(names) : near));
  }
  std::vector<std::string> rest = command->remaining();
  rest.insert(rest.end(), extras.begin(), extras.end());
  return rest.empty() ? Status::ok() : unknownOption(*command, rest[0]);
}

// CLI11 writes some messages over several lines; ours have one.
std::string firstLine(std::string text) {
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

// "Could not convert: --lr = abc" says neither what was typed nor what would do.
std::string conversionMessage(const std::string &text) {
  size_t option = text.find("--"), equals = text.find(" = ", option);
  if (option == std::string::npos || equals == std::string::npos)
    return firstLine(text);
  bool real = text.compare(option, 4, "--lr") == 0 || text.compare(option, 6, "--clip") == 0 ||
              text.compare(option, 6, "--temp") == 0 || text.compare(option, 7, "--top-p") == 0;
  return text.substr(option, equals - option) + ": expected " + (real ? "a number" : "a whole number from 0") +
         "; got: " + firstLine(text.substr(equals + 3));
}

} // namespace

Status parseCommandLine(int argc, const char *const *argv, const std::string &program, Command *result) {
  Command command;
  try {
    Parser parser(program, command);
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
    CLEAVE_TRY(checkRest(parser));
    if (std::string wrong = findEmptyValue(*parser.chosen(), "--prompt"); !wrong.empty())
      return invalidArgument(wrong);
    command.kind = parser.kind();
    if (command.kind == CommandKind::Train)
      command.session.seed = command.train.seed.value_or(0);
    // With auto there may be nothing yet to go on from.
    if (!command.train.resume.empty() && command.train.resume != "auto" && !command.session.weights.empty())
      return invalidArgument("--weights: --resume brings the weights, too; give one of the two");
  } catch (const CLI::ConversionError &error) {
    return invalidArgument(conversionMessage(error.what()));
  } catch (const CLI::ArgumentMismatch &error) {
    return invalidArgument(describeMismatch(firstLine(error.what())));
  } catch (const CLI::Error &error) {
    return invalidArgument(describeValue(firstLine(error.what())));
  }
  *result = std::move(command);
  return Status::ok();
}

} // namespace cleave::rt
