// The sends and receives that a schedule implies, and why they cannot deadlock.
//
// An edge of the chunk graph between two ranks is two transfers for each micro-batch: the activation after F of the
// sender, and its gradient after B or I of the other. A plan issues them on streams of their own, so that they overlap
// compute. A transfer is a rendezvous: it happens when the send is at the head of a stream of one rank and the receive
// at the head of a stream of the other.
//
// The rule is one order for all. `transfersOf` lists the transfers in the order in which their producers end when every
// task takes one unit of time. Each stream of each rank issues its transfers in that order. Take then the first
// transfer of the list that has not happened: all before it in both streams have, and what its producer waits for comes
// from transfers that are before it in the list too. So it can happen, however many streams there are.
#ifndef CLEAVE_COMPILER_PIPELINE_TRANSFERS_H
#define CLEAVE_COMPILER_PIPELINE_TRANSFERS_H

#include "compiler/Pipeline/Schedule.h"

namespace cleave::pipeline {

struct Transfer {
  int edge = 0; // of the chunk graph
  bool gradient = false;
  int microBatch = 0;
  int sender = 0, receiver = 0; // ranks
  Task producer, consumer;
};

// "1F2 -> 2F2 from rank 1 to rank 2"
std::string toString(const Transfer &transfer);

// All transfers of a step in their one order; edges within a rank have none.
std::vector<Transfer> transfersOf(const Schedule &schedule, const ChunkGraph &graph);

} // namespace cleave::pipeline

#endif
