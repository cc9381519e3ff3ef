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
      {" --fp16 --half --float16 ", "it is cleave compile --precision fp16"},
      {" --bf16 --bfloat16 ", "it is cleave compile --precision bf16"},
      {" --amp --mixed-precision --dtype ", "it is cleave compile --precision, as in --precision bf16 or fp16"},
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
      {" --shuffle ", "samples are shuffled already; leave it out (--no-shuffle takes them in the order of the files)"},
      {" --early-stopping --early-stop ", "it is --patience N, of the program's train, with --val-data"},
      {" --optim --optimizer-type ", "it is cleave compile --optimizer NAME,KEY=VALUE, as in adamw,weight_decay=0.1"},
      {" --sync-bn --sync-batchnorm --sync-batch-norm ", "it is cleave compile --batch-norm sync"},
      {" --label-smoothing --class-weights --criterion --loss-fn ",
       "the loss is part of the model: return it from the module's forward, and name it by cleave compile "
       "--loss-output "
       "NAME; --loss cross-entropy, nll and mse add a plain one"},
      {" --max-new-tokens --max-tokens --max-length ", "it is --tokens, of the program's generate"},
      {" --deepspeed --deepspeed-config --accelerate --fsdp-config ",
       "ranks and sharding are options of cleave compile --mesh, as in --mesh fsdp=8, and --fsdp-strategy"},
      {" --local-rank --local-world-size --node-rank --nnodes --master-addr --master-port --rdzv-endpoint ",
       "the launcher says it: start the program by mpirun -n N, or torchrun --no-python, and leave it out"},
      {" --wandb --wandb-project --report-to --log-dir --logdir ",
       "figures of each step go to --metrics FILE or --tensorboard DIR, of the program's train; other tools read "
       "these"},
      {" -v -V ", "--version prints the version, and CLEAVE_LOG=debug tells more"},
      {" --num-workers ", "data files are mapped, and no worker reads them: leave it out"},
      {" --input-shape --shape --input-shapes --dynamic-shapes ",
       "sizes are given by name: cleave compile --dim NAME=SIZE for each symbolic dimension of the model"},
  };
  option = option.substr(0, option.find('='));
  std::replace(option.begin(), option.end(), '_', '-');
  for (const Row &row : rows)
    if (row.names.find(" " + option + " ") != std::string_view::npos)
      return row.advice;
  return "";
}

} // namespace cleave::rt

#endif
