// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/format/schema/event.h"
#include "traces/format/schema/event_summary.h"
#include "traces/format/schema/groups.h"
#include "traces/format/schema/intent.h"
#include "traces/format/schema/records.h"
#include "traces/format/schema/run_spec.h"
#include "traces/format/schema/schedule_record.h"

namespace ringscope::traces {

/// The bounds that a record must meet when it enters the read model, and their checks. Ranks,
/// places, ranges and extents of an admitted record lie within these bounds, so sums and products
/// of a few of them fit into 64 bits. Whether two records agree is checked by the code that
/// combines them. Each check throws inputError with one sentence.
inline constexpr int kMaxRanks = 4096;
/// Each rank is in a few groups.
inline constexpr std::size_t kMaxGroups = std::size_t{2} * kMaxRanks;
inline constexpr int kMaxStages = 2 * kMaxRanks;
inline constexpr int kMaxLayers = 4096;
/// Tokens of a sequence, elements of a tensor.
inline constexpr std::int64_t kMaxTokens = std::int64_t{1} << 40;
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;
/// Nanoseconds of the run clock (104 days); bytes of a message or of a category of memory.
inline constexpr std::int64_t kMaxTimeNs = std::int64_t{1} << 53;
inline constexpr std::int64_t kMaxBytes = std::int64_t{1} << 53;

void admit(const Event& event);
void admit(const TensorRecord& tensor);
void admit(const ShardRecord& shard);
void admit(const Note& note);
void admit(const MemorySample& sample);
void admit(const DiffRecord& diff);
void admit(const TimesRecord& times);
void admit(const RunSpec& run);
void admit(const GroupRecord& group);
void admit(const IntentRecord& intent);
void admit(const ScheduleRecord& schedule);
/// Checks a summary. `rows` is the number of rows of the chunk of events that the summary
/// describes.
void admit(const EventSummary& summary, std::uint32_t rows);

}  // namespace ringscope::traces
