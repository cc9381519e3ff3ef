#include "compiler/Driver/PipelineRequest.h"

#include "compiler/Pipeline/ScheduleFile.h"
#include "compiler/Pipeline/Schedules.h"
#include "compiler/Planning/Build/StagePrograms.h"
#include "compiler/Support/InputFile.h"
#include "compiler/Support/Usage.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace cleave;

constexpr llvm::StringLiteral kOption = "--schedule", kAxis = "pp";

static bool splitsBackward(const pipeline::Schedule &schedule) {
  for (const std::vector<pipeline::Task> &tasks : schedule.ranks)
    for (const pipeline::Task &task : tasks)
      if (task.action == pipeline::Action::BackwardInput)
        return true;
  return false;
}

static llvm::Expected<pipeline::Schedule> readFile(llvm::StringRef path, const CompileOptions &options,
                                                   PipelineRequest &request) {
  auto buffer = readInputFile(path, "a schedule");
  if (!buffer)
    return usageError(kOption, llvm::toString(buffer.takeError()));
  request.schedule = path.str();
  request.text = (*buffer)->getBuffer().str();
  auto schedule = pipeline::parseSchedule(request.schedule, *request.text,
                                          {static_cast<int>(request.stages), static_cast<int>(options.microBatches)});
  if (!schedule)
    return usageError(kOption, schedule.message());
  return *schedule;
}

static llvm::Expected<pipeline::Schedule> makeByName(llvm::StringRef text, const CompileOptions &options,
                                                     PipelineRequest &request) {
  auto [name, chunks] = text.split(',');
  pipeline::ScheduleRequest asked;
  asked.ranks = static_cast<int>(request.stages);
  asked.microBatches = static_cast<int>(options.microBatches);
  if (!chunks.empty() &&
      (!chunks.consume_front("chunks=") || chunks.getAsInteger(10, asked.chunksPerRank) || asked.chunksPerRank < 1))
    return usageError(kOption, "expected NAME[,chunks=N], with one chunk or more, or file=PATH; got: " + text);
  request.schedule = name.str();
  auto schedule = pipeline::makeSchedule(request.schedule, asked);
  if (!schedule)
    return usageError(kOption, schedule.message());
  return *schedule;
}

llvm::Expected<PipelineRequest> cleave::readPipelineRequest(const CompileOptions &options) {
  PipelineRequest request;
  request.stages = options.axisSize(kAxis.str());
  if (request.stages == 1 || !options.train)
    return request;
  llvm::StringRef text = options.schedule;
  bool isFile = text.consume_front("file=");
  auto schedule = isFile ? readFile(text, options, request) : makeByName(text, options, request);
  if (!schedule)
    return schedule.takeError();
  request.chunks = schedule->numChunks();
  request.rankOfChunk = schedule->rankOfChunk;
  request.splitsBackward = splitsBackward(*schedule);
  return request;
}

void cleave::requestPipeline(mlir::ModuleOp module, const PipelineRequest &request, const CompileOptions &options) {
  if (request.stages == 1)
    return;
  mlir::Builder builder(module.getContext());
  mlir::NamedAttrList pipeline;
  pipeline.set("axis", builder.getStringAttr(kAxis));
  if (options.train)
    pipeline.set("schedule", builder.getStringAttr(request.schedule));
  if (options.train && request.text)
    pipeline.set("file", builder.getStringAttr(*request.text));
  module->setAttr(kPipelineAttr, pipeline.getDictionary(module.getContext()));
  if (!options.train) // inference is one pass through the stages; build-programs cuts it
    return;
  module->setAttr(kStagesAttr, builder.getI64IntegerAttr(request.chunks));
  module->setAttr(kStageSplitAttr, builder.getStringAttr(options.stageSplit));
  if (request.splitsBackward)
    module->setAttr(kSplitBackwardAttr, builder.getUnitAttr());
}
