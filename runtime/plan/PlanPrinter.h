// Prints a plan as text. Every line can be understood without the others, so two plans can be compared with diff.
//
//   program @train_step entry events 2 {
//     input %tokens i64[2,64] at input[0x0] batch_dim 0 split dp
//     launch @matmul.3 stream compute r params[0x0:4096] r transient[0x40:1024] w transient[0x440:1024] // "h.0.fc"
//     all_reduce stream reduce rw grads[0x0:8192] w comm[0x0:4096] group 0 dtype f32 reduction 0 algorithm 0 count 2048
//   }
#ifndef CLEAVE_RUNTIME_PLAN_PLANPRINTER_H
#define CLEAVE_RUNTIME_PLAN_PLANPRINTER_H

#include "runtime/plan/Plan_generated.h"

#include <string>
#include <string_view>

namespace cleave::rt {

// Returns a name that is one word unchanged. Others are quoted, with control characters escaped: names come from
// models, and could otherwise look like lines of the plan.
std::string printName(std::string_view name);
// The plan must have passed openPlan().
std::string printPlan(const fb::Plan &plan);
// Returns a hash of that text, 16 hexadecimal digits: a trace names the plan by it.
std::string planFingerprint(const fb::Plan &plan);

} // namespace cleave::rt

#endif
