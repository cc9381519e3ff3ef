// Tests what is read from the variables of launchers: which launcher started the process, its rank, and where ranks
// meet.
#include "runtime/comm/Launcher.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

using namespace cleave::rt;

namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

struct Start {
  Environment environment;
  Launcher launcher;
  int rank = 0, size = 0;
  std::string address = "";
};

void clearLaunchers() {
  for (const char *name :
       {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MV2_COMM_WORLD_SIZE", "RANK", "WORLD_SIZE", "LOCAL_RANK",
        "MASTER_ADDR", "MASTER_PORT", "NCCL_COMM_ID", "TORCHELASTIC_RUN_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
        "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_JOB_ID",
        "SLURM_STEP_ID", "CLEAVE_COMM_PORT", "OMPI_COMM_WORLD_LOCAL_RANK"})
    ::unsetenv(name);
}

void set(const Environment &environment) {
  clearLaunchers();
  for (const auto &[name, value] : environment)
    ::setenv(name.c_str(), value.c_str(), 1);
}

Environment with(Environment environment, const Environment &more) {
  environment.insert(environment.end(), more.begin(), more.end());
  return environment;
}

const Environment kTorch = {
    {"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "host7"}, {"MASTER_PORT", "29500"}, {"LOCAL_RANK", "0"}};
const Environment kSlurm = {{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_JOB_ID", "1000"},
                            {"SLURM_STEP_ID", "2"}, {"SLURM_STEP_NODELIST", "gpu[07-12,20],cpu3"}};

} // namespace

TEST(Launchers, AreToldApart) {
  Environment agent = with(kTorch, {{"TORCHELASTIC_RUN_ID", "r"}});
  std::vector<Start> starts = {
      {{}, Launcher::None},
      {{{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"NCCL_COMM_ID", "n:7"}}, Launcher::Torchrun, 1, 4, "n:7"},
      {{{"RANK", "1"}}, Launcher::None}, // variables of another program
      {{{"WORLD_SIZE", "4"}}, Launcher::None},
      {{{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "a"}}, Launcher::None},
      {kTorch, Launcher::Torchrun, 1, 4, "host7:29501"}, // PyTorch's agent uses the port itself, so the next one
      {agent, Launcher::Torchrun, 1, 4, "host7:29501"},
      {with(agent, {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"PMI_SIZE", "2"}}), Launcher::Torchrun, 1, 4,
       "host7:29501"},
      {with(kTorch, {{"CLEAVE_COMM_PORT", "4000"}}), Launcher::Torchrun, 1, 4, "host7:4000"},
      {with(kTorch, {{"OMPI_COMM_WORLD_SIZE", "2"}}), Launcher::Mpi},
      {with(kTorch, {{"NCCL_COMM_ID", "[::1]:700"}}), Launcher::Torchrun, 1, 4, "[::1]:700"},
      {{{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"NCCL_COMM_ID", "n:7"}}, Launcher::Torchrun, 2, 4, "n:7"},
      {{{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "fe80::1"}, {"MASTER_PORT", "7"}}, Launcher::Torchrun, 2, 4,
       "[fe80::1]:8"},
      {kSlurm, Launcher::Slurm, 3, 8, "gpu07:" + std::to_string(20000 + (1000 * 31 + 2) % 10000)},
      {with(kSlurm, {{"MASTER_ADDR", "b"}, {"MASTER_PORT", "9"}}), Launcher::Slurm, 3, 8, "b:10"},
      {with(kSlurm, {{"PMIX_RANK", "3"}}), Launcher::Mpi},
      {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}, Launcher::None}, // a batch script
      {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "1"}}, Launcher::None}};
  for (const Start &start : starts) {
    SCOPED_TRACE(&start - starts.data());
    set(start.environment);
    EXPECT_EQ(launcher(), start.launcher);
    EXPECT_EQ(startedAsOneOfSeveral(), start.launcher != Launcher::None);
    if (start.launcher == Launcher::Mpi || start.launcher == Launcher::None)
      continue;
    LauncherRank launched;
    MeetingPoint point;
    Status status = readLauncherRank(&launched);
    EXPECT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(launched.rank, start.rank);
    EXPECT_EQ(launched.size, start.size);
    status = readMeetingPoint(launched, &point);
    EXPECT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(point.address, start.address);
  }
  clearLaunchers();
}

// A process with only some of the variables must not run alone: it would train the whole model.
TEST(Launchers, WhatIsMissingOrWrongIsNamed) {
  struct Case {
    Environment environment;
    const char *says;
  };
  Environment two = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}};
  for (const Case &each : std::vector<Case>{
           {{{"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}, "(WORLD_SIZE=2), but RANK is not set; a process that is to run "
                                                         "alone needs RANK and WORLD_SIZE unset"},
           {{{"WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "a"}}, "but RANK is not set"},
           {{{"RANK", "0"}, {"MASTER_ADDR", "a"}}, "(RANK=0), but WORLD_SIZE is not set"},
           {{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}}, "but MASTER_ADDR, the machine of rank 0, is not set"},
           {two, "but MASTER_PORT is not set"},
           {{{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}, "RANK='2': expected a number from 0 to 1"},
           {{{"RANK", "-1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}, "RANK='-1': expected a number"},
           {{{"RANK", "0"}, {"WORLD_SIZE", "99999999999999999999"}, {"MASTER_ADDR", "a"}}, "WORLD_SIZE='99999999999999999999': expected"},
           {{{"RANK", "0"}, {"WORLD_SIZE", "two"}, {"MASTER_ADDR", "a"}}, "WORLD_SIZE='two': expected a number"},
           {{{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2(x2)"}}, "SLURM_STEP_NUM_TASKS='2(x2)': expected a number"},
           {{{"SLURM_STEP_NUM_TASKS", "2"}}, "(SLURM_STEP_NUM_TASKS=2), but SLURM_PROCID is not set; a process that is to "
                                             "run alone needs SLURM_PROCID and SLURM_STEP_NUM_TASKS unset"},
           {{{"SLURM_PROCID", "1"}}, "(SLURM_PROCID=1), but SLURM_STEP_NUM_TASKS is not set"},
           {{{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}, "but MASTER_ADDR, the machine of rank 0, is not set"},
           {with(two, {{"MASTER_PORT", "65535"}}), "MASTER_PORT='65535': expected a number from 0 to 65534"},
           {with(two, {{"MASTER_PORT", "http"}}), "MASTER_PORT='http'"},
           {with(two, {{"MASTER_PORT", "0"}}), "MASTER_PORT=0"},
           {with(two, {{"CLEAVE_COMM_PORT", "70000"}}), "CLEAVE_COMM_PORT='70000'"},
           {with(two, {{"NCCL_COMM_ID", "a"}}), "NCCL_COMM_ID='a': expected the address and port of rank 0"},
           {with(two, {{"NCCL_COMM_ID", ":7"}}), "NCCL_COMM_ID=':7'"},
           {with(two, {{"NCCL_COMM_ID", "a:b"}}), "NCCL_COMM_ID='a:b'"}}) {
    set(each.environment);
    ASSERT_TRUE(launcher() == Launcher::Torchrun || launcher() == Launcher::Slurm) << each.says;
    LauncherRank launched;
    MeetingPoint point;
    Status status = readLauncherRank(&launched);
    if (status.isOk())
      status = readMeetingPoint(launched, &point);
    EXPECT_NE(status.message().find(each.says), std::string::npos) << each.says << "\n" << status.message();
  }
  clearLaunchers();
}

TEST(Launchers, NumberTheProcessesOfAMachine) {
  set({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "a"}, {"LOCAL_RANK", "1"}});
  EXPECT_EQ(localRank(5), 1);
  ::unsetenv("LOCAL_RANK");
  EXPECT_EQ(localRank(5), 5);
  set({{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_LOCALID", "2"}});
  EXPECT_EQ(localRank(5), 2);
  set({{"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "3"}, {"LOCAL_RANK", "1"}});
  EXPECT_EQ(localRank(5), 3);
  clearLaunchers();
  EXPECT_EQ(localRank(5), 5);
}
