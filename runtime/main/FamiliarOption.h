// Options of similar programs that people know, and what to use here instead. The nearest name by spelling would
// mislead: the options near "--batch-size" mean something else.
#ifndef CLEAVE_RUNTIME_MAIN_FAMILIAROPTION_H
#define CLEAVE_RUNTIME_MAIN_FAMILIAROPTION_H

#include <algorithm>
#include <string>
#include <string_view>

namespace cleave::rt {

// "the batch is part of the plan: cleave compile takes it, as --dim batch=N ...". Empty if the option is not in the
// table. '_' counts as '-'.
inline std::string familiarOption(std::string option) {
  struct Row {
    std::string_view names; // with a blank before and after each
    const char *advice;
  };
  static constexpr Row rows[] = {
      {" --batch-size --batch --train-batch-size --micro-batch-size --per-device-train-batch-size ",
       "the batch is part of the plan: cleave compile takes it, as --dim batch=N (the samples of one rank, where the "
       "model's dimension is called batch) or as --global-batch N"},
      {" --gradient-accumulation-steps --grad-accumulation --accumulate-grad-batches ",
       "it is cleave compile --micro-batches N"},
      {" --learning-rate ", "it is --lr, of the program's train"},
      {" --num-epochs --num-train-epochs --max-epochs ", "it is --epochs, of the program's train"},
      {" --max-steps --num-steps --iterations ", "it is --steps, of the program's train"},
      {" --warmup-steps --warmup --num-warmup-steps ",
       "it is part of --lr-schedule, of the program's train: --lr-schedule cosine,warmup=N"},
      {" --momentum --betas --beta1 --beta2 --eps --weight-decay --nesterov ",
       "it is part of the optimizer: cleave compile --optimizer NAME,KEY=VALUE, as in adamw,weight_decay=0.1"},
      {" --max-grad-norm --gradient-clip-val --grad-clip ", "it is --clip-grad-norm, of the program's train"},
      {" --fp16 --bf16 --half --float16 --bfloat16 --amp --mixed-precision --dtype ",
       "it is cleave compile --precision, as in --precision bf16"},
      {" --world-size --nproc --nproc-per-node --num-gpus --gpus --devices --data-parallel --dp ",
       "ranks are part of the plan: cleave compile --mesh dp=N has N data-parallel ranks"},
      {" --fsdp --zero --zero-stage ", "it is a mesh axis: cleave compile --mesh fsdp=N"},
      {" --pp --pipeline --pipeline-parallel --pipeline-parallel-size ",
       "it is a mesh axis: cleave compile --mesh, as in --mesh pp=2"},
      {" --tp --tensor-parallel --tensor-parallel-size ",
       "tensor parallelism does not exist yet; cleave compile --mesh has the axes dp, fsdp and pp"},
      {" --verbose --debug --quiet --log-level ",
       "the environment says how much is told, as in CLEAVE_LOG=debug (error, warning, info or debug)"},
      {" --gradient-checkpointing --activation-checkpointing --remat ", "it is cleave compile --recompute blocks"},
      {" --device --cuda --gpu --cpu ",
       "the device is part of the plan: cleave compile --target, as in --target host or --target cuda:sm_90"},
      {" --dataset --data-dir --train-data --train-file ", "it is --data INPUT=FILE, of the program's train"},
      {" --validation-data --validation-file --val ", "it is --val-data INPUT=FILE, of the program's train"},
      {" --checkpoint-dir --save-dir ", "checkpoints go to the folder of --save, of the program's train"},
      {" --output-dir ",
       "train writes checkpoints into the folder of --save, and infer one file for each output, given "
       "as infer --output NAME=FILE.npy"},
      {" --load --pretrained --init-from --ckpt ",
       "weights alone come by --weights FILE, and a whole checkpoint by train --resume FOLDER, of the program"},
      {" --num-workers ", "data files are mapped, and no worker reads them: leave it out"},
      {" --input-shape --shape --input-shapes --dynamic-shapes ",
       "sizes are given by name: cleave compile --dim NAME=SIZE for each symbolic dimension of the model"},
  };
  std::replace(option.begin(), option.end(), '_', '-');
  for (const Row &row : rows)
    if (row.names.find(" " + option + " ") != std::string_view::npos)
      return row.advice;
  return "";
}

} // namespace cleave::rt

#endif
