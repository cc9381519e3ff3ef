// The sends and receives that a schedule implies, and why they cannot deadlock.
//
// An edge of the chunk graph between two ranks is two transfers for each micro-batch: the activation after F of the
// sender, and its gradient after B or I of the other rank. A plan issues them on streams of their own, so that they
// overlap computation. A transfer is a rendezvous: it happens when the send is at the head of a stream of one rank and
// the receive at the head of a stream of the other.
//
// All ranks use one order. `transfersOf` lists the transfers in the order in which their producers end if every task
// takes one unit of time. Each stream of each rank issues its transfers in that order. Consider the first transfer of
// the list that has not happened. All transfers before it in both streams have happened. Everything that its producer
// waits for comes from transfers that are also before it in the list. So it can happen, however many streams there are.
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

// Returns all transfers of a step, in this order. Edges within a rank have none.
std::vector<Transfer> transfersOf(const Schedule &schedule, const ChunkGraph &graph);

} // namespace cleave::pipeline

#endif
