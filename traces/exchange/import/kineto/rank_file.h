// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "traces/exchange/import/kineto/event_reader.h"
#include "traces/exchange/import/profile/job.h"

namespace ringscope::traces {

/// The part of one event of a file that matters for a collective or a message, a stage or a
/// training step.
struct Seen {
  std::string_view name;                 ///< of a call, as callName() spells it
  EventKind stage = EventKind::kAttend;  ///< of an operator or a kernel of attention
  bool names_backward = false;           ///< its name says that it computes gradients
  std::int64_t begin_ns = 0, end_ns = 0, thread = 0;
  std::int64_t bytes = -1;
  std::int64_t external = -1;  ///< number by which a kernel refers to its operator
  std::int32_t peer_in_group = -1;
  WorldRank peer;
  std::int64_t tag = 0, sequence = -1;
  std::int32_t group = -1;
};

/// The time in which autograd evaluated a backward function.
struct Evaluated {
  std::int64_t begin_ns = 0, end_ns = 0;
};

/// One rank's file, divided into the parts from which calls are made. Times as in the file.
struct RankFile {
  std::string path;
  KinetoHead head;
  WorldRank rank;               ///< none: the file does not say
  bool rank_from_name = false;  ///< the rank is that of the file's name
  std::int32_t world_size = 1;
  std::vector<NamedGroup> groups;
  std::vector<Seen> postings;  ///< c10d::… on the thread that posted the call
  std::vector<Seen> ranges;    ///< gloo:… while the call was carried out
  std::vector<Seen> comms;     ///< record_param_comms, with the group
  std::vector<Seen> kernels;   ///< kernels of collectives on a device
  std::vector<Seen> attention_kernels;
  std::vector<Seen> operators;  ///< attention, embedding, loss, optimizer
  std::map<std::int64_t, std::vector<Evaluated>> backward;   ///< by thread
  std::vector<std::pair<std::int64_t, std::int32_t>> steps;  ///< begin and number
  bool has_kernels = false;
};

/// Reads a file. Damage is described in head.damage. `may_be_named`: when the file does not say its
/// rank, the rank in its name is taken. Throws inputError when the file cannot be read
/// at all, or when its statements about ranks are impossible.
RankFile readRankFile(const std::string& path, bool may_be_named);

/// Returns the calls and stages of a file, with times since 1970.
ProfiledRank profiledRank(RankFile file);

/// Returns attention, embedding, loss and optimizer as events, without nested ones. When kernels
/// were profiled, returns only the kernels of attention, because the CPU operators merely launch
/// them.
std::vector<Event> findStages(RankFile& file);

/// Returns the training step at a time: that of the last mark before it.
std::int32_t stepAt(const RankFile& file, std::int64_t ns);
/// Reports whether autograd was evaluating a backward function on this thread at a time.
bool isInBackward(const RankFile& file, std::int64_t thread, std::int64_t ns);

}  // namespace ringscope::traces
