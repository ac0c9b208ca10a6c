// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "traces/exchange/import/kineto/event_reader.h"
#include "traces/exchange/import/profile/job.h"

namespace ringscope::traces {

/// What one event of a file says of a collective or a message, of a stage or of a training step.
struct Seen {
  std::string name;  ///< in one spelling where it is a call, else as it is
  std::int64_t begin_ns = 0, end_ns = 0, thread = 0;
  std::int64_t bytes = -1;
  std::int64_t external = -1;  ///< the number by which a kernel names its operator
  std::int32_t peer_in_group = -1;
  WorldRank peer;
  std::int64_t tag = 0, sequence = -1;
  std::int32_t group = -1;
};

/// One rank's file, in the parts of which calls are made. Times as in the file.
struct RankFile {
  std::string path;
  KinetoHead head;
  WorldRank rank;  ///< none: the file does not say
  std::int32_t world_size = 1;
  std::vector<NamedGroup> groups;
  std::vector<Seen> postings;  ///< c10d::…, on the thread that asked for it
  std::vector<Seen> ranges;    ///< gloo:…, while it was carried out
  std::vector<Seen> comms;     ///< record_param_comms, with its group
  std::vector<Seen> kernels;   ///< of collectives, on a device
  std::vector<Seen> attention_kernels;
  std::vector<Seen> operators;                         ///< attention, embedding, loss, optimizer
  std::map<std::int64_t, std::vector<Seen>> backward;  ///< by thread: what autograd evaluated
  std::vector<std::pair<std::int64_t, std::int32_t>> steps;  ///< begin and number
  bool has_kernels = false;
};

/// Reads a file; what is damaged is said in head.damage. Throws inputError where it cannot be read
/// at all, or says of its ranks what cannot be.
RankFile readRankFile(const std::string& path);

/// The calls and stages of a file, times since 1970.
ProfiledRank profiledRank(RankFile file);

/// Attention, embedding, loss and optimizer as events, without what lies within another. Where
/// kernels were profiled, those of attention alone: the processor only started what it did.
std::vector<Event> stagesOf(RankFile& file);

/// The training step that was marked at a time: of the last mark before it.
std::int32_t stepAt(const RankFile& file, std::int64_t ns);
/// Whether autograd evaluated a backward function then on this thread.
bool isInBackward(const RankFile& file, std::int64_t thread, std::int64_t ns);

}  // namespace ringscope::traces
