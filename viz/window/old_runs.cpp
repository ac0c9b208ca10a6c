// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/old_runs.h"

#include "traces/format/core/prose.h"
#include "viz/scene/units.h"

namespace ringscope::viz {
namespace {

/// Returns words such as "2 old runs (1.2 GiB)".
QString describeRuns(const std::vector<RunFolder::Run>& runs) {
  qint64 bytes = 0;
  for (const RunFolder::Run& run : runs) bytes += run.bytes;
  return QString("%1 (%2)").arg(
      traces::describeCount(static_cast<std::int64_t>(runs.size()), "old run").c_str(),
      describeBytes(bytes).c_str());
}

QString listNames(const std::vector<RunFolder::Run>& runs) {
  constexpr qsizetype kMost = 4;
  QStringList names;
  for (const RunFolder::Run& run : runs) names << run.name;
  const auto more = names.size() - kMost;
  return names.mid(0, kMost).join("; ") + (more > 0 ? QString("; and %1 more").arg(more) : "");
}

QString describeRule(const QString& take, qint64 limit, const std::vector<RunFolder::Run>& runs) {
  return QString(
             "The unpinned runs %1 more than %2, and the oldest go first: %3.\n"
             "To keep a run, pin it; to keep more, choose a larger limit under Runs.")
      .arg(take, describeLimit(limit), listNames(runs));
}

}  // namespace

void removeOldRuns(RunFolder& runs, qint64 limit, NoticeBar& notice) {
  const auto removed = runs.removeBeyond(limit);
  if (removed.empty()) return;
  notice.show("Removed " + describeRuns(removed), describeRule("took", limit, removed));
}

void announceRemoval(const RunFolder& runs, qint64 limit, NoticeBar& notice) {
  const auto beyond = runs.runsBeyond(limit);
  if (beyond.empty()) return notice.hide();
  notice.show("The end of the next run removes " + describeRuns(beyond),
              describeRule("take", limit, beyond));
}

}  // namespace ringscope::viz
