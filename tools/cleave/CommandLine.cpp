// CLI11 reports errors by exceptions. This file is compiled with exceptions, and none leaves it.
#include "tools/cleave/CommandLine.h"

#include "cleave/model.h"
#include "compiler/Driver/Plugins.h"
#include "runtime/base/NearestName.h"
#include "runtime/base/Printable.h"
#include "runtime/main/HelpFormatter.h"
#include "runtime/main/ListOption.h"
#include "runtime/main/MissingValue.h"
#include "runtime/main/UnexpectedArgument.h"
#include "runtime/main/UnknownOption.h"
#include "runtime/plan/Opcode.h"
#include "runtime/state/CheckpointIndex.h"
#include "tools/cleave/CompileArguments.h"
#include "tools/cleave/ConfigFile.h"
#include "tools/cleave/Describe.h"
#include "tools/cleave/ThrowingPlugin.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

namespace cleave {
namespace {

std::vector<std::string> commandNames(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::string noCommand(const CLI::App &app) {
  return "no command; expected " + CLI::detail::join(commandNames(app), ", ") + " (see cleave --help)";
}

// Reports a mistyped command. CLI11 would only say "A subcommand is required".
void checkCommand(const CLI::App &app, const std::vector<std::string> &arguments) {
  if (arguments.empty())
    throw CLI::RuntimeError(noCommand(app), 2);
  std::vector<std::string> names = commandNames(app);
  bool isKnown = std::find(names.begin(), names.end(), arguments[0]) != names.end();
  if (!isKnown && arguments[0].rfind('-', 0) != 0)
    throw CLI::RuntimeError(
        rt::describeUnknownCommand(rt::KnownProgram::Cleave, arguments[0], names) + " (see cleave --help)", 2);
  if (isKnown || llvm::is_contained({"--help", "-h", "--version"}, arguments[0]))
    return;
  std::string advice = rt::familiarOption(arguments[0]);
  throw CLI::RuntimeError("unknown option '" + arguments[0] + "'" +
                              (advice.empty()
                                   ? "; a command comes first, as in cleave compile MODEL.onnx (see cleave --help)"
                                   : ": " + advice),
                          2);
}

// Describes an argument that no option and no positional takes.
std::string unknownArgument(const CLI::App &command, const std::vector<std::string> &arguments) {
  std::string help = "; see cleave " + command.get_name() + " --help";
  std::vector<std::string> names = rt::optionNames(command);
  for (const std::string &argument : arguments)
    if (std::string name = argument.substr(0, argument.find('='));
        name.rfind("--", 0) == 0 && std::find(names.begin(), names.end(), name) == names.end())
      return rt::describeUnknownOption(command, rt::KnownProgram::Cleave, name, help);
  std::vector<std::string> rest = command.remaining();
  if (!rest.empty() && rest[0].size() > 1 && rest[0][0] == '-')
    return rt::describeUnknownOption(command, rt::KnownProgram::Cleave, rest[0], help);
  return rt::describeUnexpected(command, arguments, rest.empty() ? "" : rest[0], help);
}

// Examples for each command, which --help prints below its options.
const char *compileExamples = R"(Examples:
  cleave compile model.onnx -o model --dim batch=8
  cleave compile model.onnx -o model --train --loss cross-entropy --optimizer adamw --dim batch=16 --mesh dp=2
  cleave compile gpt.onnx -o gpt --train --loss-output loss --dim batch=8 --mesh fsdp=2 --recompute blocks
  cleave compile model.onnx -o libmodel.so --emit shared --dim batch=1)";
const char *inspectExamples = R"(Examples:
  cleave inspect model
  cleave inspect model --timeline
  cleave inspect model --html model.html
  cleave inspect model --json > model.json
  cleave inspect model --text | less
  cleave inspect gpt --trace trace.json
  cleave inspect gpt --target-machine h100
  cleave inspect gpt --profile trace.json --html gpt.html)";
const char *verifyExamples = "Example:\n  cleave verify model";
const char *calibrateExamples = R"(Examples:
  cleave calibrate
  cleave calibrate --threads 8
  cleave calibrate -o machine.json)";
const char *bundleExample = R"(Example:
  cleave compile gpt.onnx -o gpt.o --emit object --train --loss-output loss --dim batch=8 --target cuda:sm_90
  cleave bundle gpt.o -o gpt-bundle)";
const char *exportExamples = R"(Examples:
  cleave export ckpt --model model.onnx -o trained.onnx
  cleave export ckpt/best --model model.onnx -o best.onnx
  cleave export ckpt --model model.onnx -o trained.safetensors
  cleave export ckpt --model gpt.onnx -o gpt.infer.onnx --outputs logits)";

const char *footer = R"(Examples:
  cleave compile model.onnx -o model --dim batch=8
  cleave compile gpt.onnx -o gpt --train --loss-output loss --optimizer adamw --dim batch=16 --mesh dp=2
  cleave inspect gpt        cleave verify gpt        cleave export ckpt --model gpt.onnx -o trained.onnx)";

// Describes which formats of other versions this version reads. CHANGELOG.md has the policy.
std::string versionText() {
  return std::string(CLEAVE_VERSION) + "\nplan format " + std::to_string(rt::kPlanFormat) + ", checkpoint format " +
         std::to_string(rt::kCheckpointFormat) + " (reads " + std::to_string(rt::kOldestCheckpointFormat) + " to " +
         std::to_string(rt::kCheckpointFormat) + "), C API " + std::to_string(CLEAVE_MODEL_ABI);
}

// The forms in which a plan can be shown. Only one of them may be given.
void addForms(CLI::App &app, InspectRequest &request) {
  CLI::Option_group *forms = app.add_option_group("Forms", "One of these replaces the summary");
  auto add = [&](const char *name, InspectForm form, const char *help) {
    forms->add_flag_callback(
        name, [&request, form] { request.options.form = form; }, help);
  };
  add("--parameters", InspectForm::Parameters, "How each tensor is stored, the largest first");
  add("--timeline", InspectForm::Timeline,
      "Memory in use over a step, the peak, and the tensors in memory at the peak");
  add("--details", InspectForm::Details,
      "The summary in exact bytes, with every kind of rank, and all units, inputs and outputs");
  add("--text", InspectForm::Text, "Every instruction of the plan");
  add("--json", InspectForm::Json, "The figures of the plan as JSON, for other programs");
  forms
      ->add_option("--html", request.options.html,
                   "Write a page with pictures of memory, schedule, streams, traffic and state")
      ->type_name("FILE");
  forms->require_option(0, 1);
}

// Each of these functions declares a command: its options, and the request that they fill.

CLI::App *addCompile(CLI::App &app, CompileOptions &options, CompileTexts &texts, std::string &config) {
  CLI::App *command = app.add_subcommand("compile", "Compile an ONNX model");
  command->footer(compileExamples);
  addCompileOptions(*command, options, texts);
  // expandConfig() replaces it before parsing. It is declared only for --help.
  command->add_option("--config", config, "Read options from a JSON file. Its keys are the long names of the options")
      ->type_name("FILE");
  return command;
}

CLI::App *addInspect(CLI::App &app, InspectRequest &request) {
  CLI::App *command =
      app.add_subcommand("inspect", "Show what a compiled model needs and does: memory, traffic, instructions");
  command->footer(inspectExamples);
  command->add_option("artefact", request.artefact, "An executable, an object file, a shared library or a .plan file")
      ->required()
      ->type_name("FILE");
  addForms(*command, request);
  command
      ->add_option(
          "--trace", request.options.trace,
          "Draw the measured step of a pipeline next to the predicted one. FILE was written by `train --trace FILE`")
      ->type_name("FILE");
  command
      ->add_option("--profile", request.options.profile,
                   "Print the time of a measured step by kernel and by node of the model, with shares of the machine's "
                   "peaks and the predicted times; with --html as part of the page. FILE was written by `train "
                   "--trace FILE`")
      ->type_name("FILE");
  command
      ->add_option("--target-machine", request.options.machine,
                   "Predict how long a step takes on a machine: one of NVIDIA's, by the data sheets; calibrated (this "
                   "one, as cleave calibrate has measured it); or a JSON file with the rates of another one. Without "
                   "this option, forms that show times take the calibrated one, if there is one; with none they do not")
      ->type_name("a100|h100|h200|calibrated|none|FILE");
  return command;
}

CLI::App *addDiff(CLI::App &app, DiffRequest &request) {
  CLI::App *command = app.add_subcommand(
      "diff", "Show how two compiled models differ: memory, traffic, instructions, kernels, options");
  command->footer("Example:\n  cleave diff gpt-fsdp gpt-pipeline");
  command->add_option("a", request.a, "An executable, an object file, a shared library or a .plan file")
      ->required()
      ->type_name("FILE");
  command->add_option("b", request.b, "The executable, object file, shared library or .plan file to compare it with")
      ->required()
      ->type_name("FILE");
  return command;
}

CLI::App *addVerify(CLI::App &app, VerifyRequest &request) {
  CLI::App *command =
      app.add_subcommand("verify", "Prove the plan for all ranks: no deadlock, no race, no read before write");
  command->footer(verifyExamples);
  command->add_option("artefact", request.artefact, "An executable, an object file, a shared library or a .plan file")
      ->required()
      ->type_name("FILE");
  return command;
}

CLI::App *addCalibrate(CLI::App &app, CalibrateRequest &request) {
  CLI::App *command = app.add_subcommand(
      "calibrate",
      "Measure this machine, so that step times can be predicted (about ten seconds for each number of threads)");
  command->footer(calibrateExamples);
  command
      ->add_option("-o,--output", request.output,
                   "Write the machine to this file, for --target-machine FILE. Without it the machine is kept in the "
                   "cache of the user, where compile and inspect find it")
      ->type_name("FILE");
  command
      ->add_option("--threads", request.threads,
                   "Compute threads of a rank (default: all cores, as compile takes them; without -o then also 1, for "
                   "ranks that share the machine)")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 12))
      ->type_name("N");
  return command;
}

CLI::App *addBundle(CLI::App &app, BundleRequest &request) {
  CLI::App *command = app.add_subcommand(
      "bundle", "Write a folder from which a machine without Cleave can build a compiled model's program");
  command->footer(bundleExample);
  command->add_option("objects", request.objects, "Object files that cleave compile --emit object wrote")
      ->required()
      ->type_name("FILE");
  command->add_option("-o,--output", request.output, "The folder to write. It must not exist yet")
      ->required()
      ->type_name("DIR");
  return command;
}

CLI::App *addExport(CLI::App &app, ExportRequest &request) {
  CLI::App *command = app.add_subcommand(
      "export", "Write a checkpoint's weights into a copy of the ONNX model, or as one safetensors file");
  command->footer(exportExamples);
  command
      ->add_option("checkpoint", request.checkpoint,
                   "A checkpoint. A directory DIR of checkpoints stands for its latest one, DIR/best for its best one")
      ->required()
      ->type_name("PATH");
  command->add_option("--model", request.model, "The ONNX file that was compiled")->required()->type_name("FILE");
  command->add_option("-o,--output", request.output, "The ONNX file to write. FILE.safetensors gets the weights alone")
      ->required()
      ->type_name("FILE");
  rt::addList(*command, "--outputs", "NAME", request.outputs,
              "Outputs to keep, separated by commas (default: all). Inputs, nodes and weights that they do not "
              "need are removed")
      ->delimiter(',');
  return command;
}

// Without "did you mean": names of shells differ in a letter or two, and who has typed ksh does not mean zsh.
CLI::Validator knownShells() {
  const std::vector<std::string> names = {"bash", "zsh", "fish"};
  CLI::Validator known = CLI::IsMember(names);
  known.operation([names](std::string &shell) -> std::string {
    bool isKnown = std::find(names.begin(), names.end(), shell) != names.end();
    return isKnown ? "" : "expected " + rt::joinChoices(names) + "; got: " + shell;
  });
  return known;
}

CLI::App *addCompletion(CLI::App &app, std::string &shell) {
  CLI::App *command = app.add_subcommand(
      "completion", "Print a script for your shell that completes the commands and options of cleave");
  command->add_option("shell", shell, "Your shell")->required()->check(knownShells());
  command->footer("Example:\n  source <(cleave completion bash)");
  return command;
}

CLI::App *addManual(CLI::App &app) {
  CLI::App *command = app.add_subcommand("manual", "Print the manual page, cleave(1)");
  command->footer("Example:\n  cleave manual | man -l -");
  return command;
}

// The program's options and commands. Each command has a request. Only that of the given command is filled.
class CommandLine {
public:
  CommandLine();
  CommandLine(const CommandLine &) = delete; // the options hold addresses of the requests

  Request parse(int argc, const char *const *argv);

private:
  std::string read(int argc, const char *const *argv);
  // Help after --load-pass-plugin lists the optimizers of these libraries, too.
  llvm::Error describePlugins();
  std::string describe(const CLI::ExtrasError &error) const;
  std::string describe(const CLI::RequiredError &error) const;
  std::string describe(const CLI::ArgumentMismatch &error) const;
  Request chosenRequest() const;

  CLI::App app{"Cleave compiles ONNX models into sharded execution plans, and proves what they need before they run."};
  std::vector<std::string> arguments; // including those of --config

  CompileOptions compile;
  CompileTexts texts;
  std::string config, shell;
  InspectRequest inspect;
  DiffRequest diff;
  VerifyRequest verify;
  CalibrateRequest calibrate;
  BundleRequest bundle;
  ExportRequest exporting;

  CLI::App *compileApp, *inspectApp, *diffApp, *verifyApp, *calibrateApp, *bundleApp, *exportApp, *completionApp,
      *manualApp;
};

// A command gets the formatter and the footer that the program has when the command is added. --help lists commands in
// this order.
CommandLine::CommandLine() {
  app.name("cleave");
  app.formatter(std::make_shared<rt::HelpFormatter>());
  app.footer(footer);
  app.require_subcommand(1);
  app.set_version_flag("--version", versionText());
  compileApp = addCompile(app, compile, texts, config);
  inspectApp = addInspect(app, inspect);
  diffApp = addDiff(app, diff);
  verifyApp = addVerify(app, verify);
  calibrateApp = addCalibrate(app, calibrate);
  bundleApp = addBundle(app, bundle);
  exportApp = addExport(app, exporting);
  completionApp = addCompletion(app, shell);
  manualApp = addManual(app);
}

Exit refuse(const std::string &message) {
  std::fprintf(stderr, "cleave: error: %s\n", rt::printable(message.substr(0, message.find('\n'))).c_str());
  return Exit{2};
}

Request CommandLine::parse(int argc, const char *const *argv) {
  try {
    if (std::string wrong = read(argc, argv); !wrong.empty())
      return refuse(wrong);
  } catch (const CLI::CallForHelp &e) {
    if (llvm::Error error = describePlugins())
      return refuse(llvm::toString(std::move(error)));
    return Exit{app.exit(e)};
  } catch (const CLI::CallForVersion &e) {
    return Exit{app.exit(e)};
  } catch (const CLI::ExtrasError &e) {
    return refuse(describe(e));
  } catch (const CLI::RequiredError &e) {
    return refuse(describe(e));
  } catch (const CLI::ArgumentMismatch &e) {
    return refuse(describe(e));
  } catch (const CLI::Error &e) {
    return refuse(rt::describeValue(e.what()));
  } catch (const std::exception &e) { // exceptions of streams and allocations
    return refuse(e.what());
  }
  return chosenRequest();
}

// Fills the request of the given command. Returns or throws a message if the arguments are wrong.
std::string CommandLine::read(int argc, const char *const *argv) {
  arguments = expandConfig(argc, argv, *compileApp, compile.configs);
  checkCommand(app, arguments);
  if (std::string wrong = rt::findSwitchValue(app, arguments); !wrong.empty())
    return wrong;
  if (std::string wrong = rt::findMissingValue(app, arguments); !wrong.empty())
    return wrong;
  if (std::string wrong = rt::findEmptyItem(app, arguments); !wrong.empty())
    return wrong;
  app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  for (const CLI::App *command : app.get_subcommands())
    if (std::string wrong = rt::findEmptyValue(*command); !wrong.empty())
      return wrong;
  if (*compileApp)
    finishCompileOptions(*compileApp, compile, texts);
  return "";
}

llvm::Error CommandLine::describePlugins() {
  mlir::DialectRegistry registry;
  watchPlugins(compile.passPlugins);
  if (llvm::Error error = loadPlugins(compile.passPlugins, registry))
    return error;
  describeOptimizers(*compileApp->get_option("--optimizer"));
  return llvm::Error::success();
}

std::string CommandLine::describe(const CLI::ExtrasError &error) const {
  std::vector<CLI::App *> chosen = app.get_subcommands();
  return chosen.empty() ? error.what() : unknownArgument(*chosen[0], arguments);
}

std::string CommandLine::describe(const CLI::RequiredError &error) const {
  std::vector<CLI::App *> chosen = app.get_subcommands();
  return chosen.empty() ? noCommand(app) : rt::describeValue(rt::describeMissing(*chosen[0], error.what()));
}

std::string CommandLine::describe(const CLI::ArgumentMismatch &error) const {
  std::string text = rt::describeMismatch(error.what());
  bool isTwice = llvm::StringRef(text).ends_with("more than once");
  bool isCompleted = isTwice && !compile.configs.empty();
  return text + (isCompleted ? "; the options in " + compile.configs[0] + " count, too" : "");
}

Request CommandLine::chosenRequest() const {
  if (*compileApp)
    return compile;
  if (*inspectApp)
    return inspect;
  if (*diffApp)
    return diff;
  if (*verifyApp)
    return verify;
  if (*calibrateApp)
    return calibrate;
  if (*bundleApp)
    return bundle;
  if (*exportApp)
    return exporting;
  std::string text = *manualApp ? manualPage(app, CLEAVE_VERSION) : completionScript(app, shell);
  std::fputs(text.c_str(), stdout);
  return Exit{0};
}

} // namespace

Request parseCommandLine(int argc, const char *const *argv) { return CommandLine().parse(argc, argv); }

} // namespace cleave
