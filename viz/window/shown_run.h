// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

#include "viz/link/engine_link.h"
#include "viz/link/run_folder.h"
#include "viz/session/session.h"

namespace ringscope::viz {

/// The recording on show, and the runs that no window removes while this one uses them.
class ShownRun {
 public:
  RunFolder& folder() { return runs_; }
  /// The file or folder on show; empty before the first one.
  const QString& path() const { return path_; }
  /// Reports whether the live run on show has ended with a failure.
  bool failed() const { return failed_; }
  void setFailed(bool failed) { failed_ = failed; }

  /// Shows another recording. An empty `hold` is replaced by a new one.
  void show(const QString& path, RunHold hold = {});
  /// Names the file that could not be opened. The next recording on show clears the name.
  void setUnopened(const QString& path) { unopened_ = path; }
  /// Gives up the hold of the recording on show.
  RunHold release() { return std::exchange(hold_, {}); }
  /// Reserves the folder of a job's recording, and returns its path.
  QString reserveJob();
  /// Holds the recording of a job, whatever is on show.
  void holdJob(const QString& path) { job_hold_ = runs_.adopt(path); }
  /// Holds the recordings that a comparison reads.
  void holdCompared(const QStringList& paths);

  /// Returns the title of the window. `other` is the recording that is compared; may be empty.
  QString title(const Session& session, bool is_job, EngineLink::State state,
                const QString& other) const;

 private:
  RunFolder runs_{runsFolder()};
  RunHold hold_, job_hold_;
  std::vector<RunHold> compared_holds_;
  QString path_, unopened_;
  bool failed_ = false;
};

}  // namespace ringscope::viz
